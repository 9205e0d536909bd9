/**
 * What is under way, in the order in which it began: for everything that comes and goes with every call.
 *
 * A Map or Set would do the same and cost most of a call: V8 leaves each table that was outgrown pointing at the next one, so
 * once one of them is old, whatever stood in those after it outlives its time until the next full collection.
 */

/** One that is under way. */
export interface Place<Item> {
  readonly item: Item
  /** False once it was removed. */
  readonly isHeld: boolean
}

/**
 * A class, since V8 counts who lives on from where a literal stands: in the first moment of a load all of them do, by their
 * number in flight, and from then on it would make each one old from its birth, with the whole call behind it.
 */
class Node<Item> implements Place<Item> {
  readonly item: Item
  isHeld = true
  before: Node<Item> | undefined
  after: Node<Item> | undefined = undefined

  constructor(item: Item, before: Node<Item> | undefined) {
    this.item = item
    this.before = before
  }
}

export class InFlight<Item> {
  #oldest: Node<Item> | undefined
  #newest: Node<Item> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(item: Item): Place<Item> {
    const before = this.#newest
    const node = new Node(item, before)
    if (before === undefined) this.#oldest = node
    else before.after = node
    this.#newest = node
    this.#size += 1
    return node
  }

  /** Does nothing when it was removed before. @param place as `add` gave it. */
  remove(place: Place<Item>): void {
    const node = place as Node<Item>
    if (!node.isHeld) return
    node.isHeld = false
    const { before, after } = node
    if (before === undefined) this.#oldest = after
    else before.after = after
    if (after === undefined) this.#newest = before
    else after.before = before
    // It may be old by now, and must not keep its neighbours.
    node.before = undefined
    node.after = undefined
    this.#size -= 1
  }

  /** The oldest one that is meant. */
  find(isMeant: (item: Item) => boolean): Place<Item> | undefined {
    let node = this.#oldest
    while (node !== undefined && !isMeant(node.item)) node = node.after
    return node
  }

  oldest(): Item | undefined {
    return this.#oldest?.item
  }

  /** Oldest first, as it is now. */
  all(): Item[] {
    const items: Item[] = []
    for (let node = this.#oldest; node !== undefined; node = node.after) items.push(node.item)
    return items
  }
}
