/**
 * The rules of one folder as they stand on disk: `comity-docs.yaml` and the files it takes tokens
 * from, looked at on access.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isSettled } from './document.ts'
import type { FolderRules, RulesMistakes } from './folder-rules.ts'
import { parseFolderRules, RULES_FILE } from './folder-rules.ts'
import { stampOf } from './walk.ts'

/** Rules in force, or what is wrong with them: then nobody may read anything of the folder. */
export type Rules = FolderRules | RulesMistakes

/** Rules that are read again when they change. */
export interface RulesWatch {
  current(): Rules
  /** Looks at the files; true when the rules were read again. */
  refresh(): Promise<boolean>
}

const NO_RULES: FolderRules = { readers: [], tokens: [], secretFiles: [] }
/** A stamp that never counts as the same. */
const UNSETTLED = ''

/** Rules that are not read yet: there are none until the first `refresh`. */
export function watchRules(
  root: string,
  lookupEnvironment: (name: string) => string | undefined,
): RulesWatch {
  let rules: Rules = NO_RULES
  let known = UNSETTLED
  return {
    current: () => rules,
    async refresh() {
      const before = await stampRules(root, rules)
      if (before === known && before !== UNSETTLED) return false
      rules = await readRules(root, lookupEnvironment)
      // A stamp that was not the same before and after is not trusted: they are read again next time.
      const after = await stampRules(root, rules)
      known = after === before && !('mistakes' in rules) ? after : UNSETTLED
      return true
    },
  }
}

async function stampRules(root: string, rules: Rules): Promise<string> {
  const files = [join(root, RULES_FILE), ...('mistakes' in rules ? [] : rules.secretFiles)]
  const stats = await Promise.all(
    files.map((file) => stat(file, { bigint: true }).catch(() => undefined)),
  )
  if (stats.some((each) => each !== undefined && !isSettled(each))) return UNSETTLED
  return stats.map((each) => (each === undefined ? 'absent' : stampOf(each))).join(' ')
}

async function readRules(
  root: string,
  lookupEnvironment: (name: string) => string | undefined,
): Promise<Rules> {
  try {
    const content = await readFile(join(root, RULES_FILE), 'utf8')
    return parseFolderRules(content, root, lookupEnvironment)
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return isAbsent ? NO_RULES : { mistakes: ['the file cannot be read'] }
  }
}
