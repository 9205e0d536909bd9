/** What V8 has to be told in a process that serves for long: what calls are made of is of their time, and nothing else. */
import { setFlagsFromString } from 'node:v8'

/**
 * V8 watches, for each place where an object or array is written out, whether what is made there lives on, and where nearly
 * all does it makes it old from its birth. It looks when there are a hundred: in the first moment of a load all of them are
 * still in flight. From then on each dead call hangs on something old, and is kept and copied until the next full collection.
 *
 * Call it once all that starts has started: code that was kept from an earlier run is of no use any more from then on.
 */
export function keepCallsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
