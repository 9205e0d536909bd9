/**
 * What one file under src or examples does that the house does not allow.
 *
 * Pure: a read file in, findings out. There is no way to excuse a line; that is the point.
 */
import { isBuiltin } from 'node:module'
import { FOLDERS, MAX_LINES, READS_ENVIRONMENT, SWITCHES_OFF, type FolderRule } from './folders.ts'
import { isGenerated, isTest, type ResolvedImport, type SourceFile } from './source-tree.ts'
import type { Token } from './tokens.ts'

/** One thing that is not allowed. */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** The npm packages of package.json by what they are for. */
export interface Packages {
  readonly name: string
  readonly shipped: ReadonlySet<string>
  readonly development: ReadonlySet<string>
}

/** Judges a file under `src/`. @returns nothing when it is as it should be. */
export function judgeSource(file: SourceFile, packages: Packages): Finding[] {
  const inside = file.path.slice('src/'.length)
  const folder = inside.split('/')[0] ?? ''
  const rule = FOLDERS[folder]
  if (rule === undefined) {
    return [
      {
        file: file.path,
        line: 1,
        message: `src/${folder} is not in the table of scripts/folders.ts`,
      },
    ]
  }
  const findings = [
    ...file.imports.flatMap((found) =>
      at(file, found.line, judgeImport(file, folder, rule, found, packages)),
    ),
    ...judgeExports(file),
    ...judgeEnvironment(file, inside),
  ]
  return isGenerated(file.path) ? findings : [...findings, ...judgeForm(file)]
}

/** Judges a file under `examples/`: it uses comity as any program would, by its name. */
export function judgeExample(file: SourceFile): Finding[] {
  const home = file.path.split('/').slice(0, 2).join('/') + '/'
  const isAgent = file.path.startsWith(`${home}agent/`)
  return file.imports.flatMap((found) => {
    const { target, specifier, line } = found
    if (target !== undefined && !target.startsWith(home) && !isTest(file.path)) {
      return at(file, line, `an example imports comity by its name, not ${target}`)
    }
    if (isAgent && specifier !== undefined && packageOf(specifier) === 'comity') {
      return at(
        file,
        line,
        'an example agent stands for a stranger and imports nothing from comity',
      )
    }
    return []
  })
}

function judgeImport(
  file: SourceFile,
  folder: string,
  rule: FolderRule,
  found: ResolvedImport,
  packages: Packages,
): string | undefined {
  const { specifier, target } = found
  if (specifier === undefined) return `a ${found.kind} import must name its file as a plain string`
  if (target !== undefined) return judgeRelative(file, folder, rule, found, target)
  if (specifier.startsWith('node:')) {
    return rule.node || isTest(file.path)
      ? undefined
      : `${folder} imports nothing from Node, got ${specifier}`
  }
  if (isBuiltin(specifier)) return `write node:${specifier}, so that no package can take its place`
  const name = packageOf(specifier)
  if (name === packages.name || specifier.startsWith('#')) {
    return `import the file by its relative path, not ${specifier}`
  }
  if (isTest(file.path) || folder === 'testkit') {
    return packages.shipped.has(name) || packages.development.has(name)
      ? undefined
      : `${name} is not in package.json`
  }
  if (!rule.npm.includes(name)) return `${folder} may not import the package ${name}`
  return packages.shipped.has(name)
    ? undefined
    : `${name} is not a dependency of the published package (see package.json)`
}

function judgeRelative(
  file: SourceFile,
  folder: string,
  rule: FolderRule,
  found: ResolvedImport,
  target: string,
): string | undefined {
  const test = isTest(file.path)
  if (!target.startsWith('src/')) {
    if (test && target.startsWith('test/')) return undefined
    // The version is read from it; the path is the same from dist.
    if (target === 'package.json' && rule.node) return undefined
    return `nothing under src reaches outside it, got ${target}`
  }
  if (!test && isTest(target)) return `${target} is test code and not published`
  const inside = target.slice('src/'.length)
  if (inside.split('/')[0] === folder) return undefined
  if (reaches(inside, rule.folders)) return undefined
  if (test && reaches(inside, ['testkit'])) return undefined
  if (rule.typesFrom !== undefined && reaches(inside, rule.typesFrom)) {
    return found.typeOnly ? undefined : `${folder} may only \`import type\` from ${inside}`
  }
  return `${folder} may not import from ${inside}`
}

function reaches(inside: string, folders: readonly string[]): boolean {
  return folders.some((folder) => inside.startsWith(`${folder}/`))
}

function judgeExports({ path, tokens }: SourceFile): Finding[] {
  return tokens.flatMap((token, index) => {
    if (!isWord(token, 'export') || isMember(tokens, index)) return []
    const next = tokens[isWord(tokens[index + 1], 'type') ? index + 2 : index + 1]
    if (isWord(next, 'default')) return at({ path }, token.line, 'no default export')
    if (next?.text === '*') return at({ path }, token.line, 'no `export *`: name what is exported')
    if (next?.text !== '{') return []
    const end = tokens.findIndex((inner, place) => place > index && inner.text === '}')
    const named = tokens.slice(index, end)
    return named.some((inner, place) => isWord(inner, 'default') && isWord(named[place - 1], 'as'))
      ? at({ path }, token.line, 'no default export')
      : []
  })
}

function judgeEnvironment({ path, tokens, imports }: SourceFile, inside: string): Finding[] {
  if (isTest(path) || reaches(inside, READS_ENVIRONMENT)) return []
  const message = `the environment is read only in ${READS_ENVIRONMENT.join(' and ')}`
  const imported = imports.filter(
    ({ specifier, names }) =>
      specifier === 'node:process' && (names.includes('env') || names.length === 0),
  )
  const read = tokens.filter((token, index) => {
    if (!isWord(token, 'process')) return false
    const next = tokens[index + 1]?.text
    if (next === '.' || next === '?.' || next === '[') {
      return tokens[index + 2]?.text === 'env' || tokens[index + 3]?.text === 'env'
    }
    // `const { env } = process` and handing the whole of `process` on.
    return next !== ':' && tokens[index - 1]?.text === '=' && tokens[index - 2]?.text === '}'
  })
  return [...imported, ...read].flatMap(({ line }) => at({ path }, line, message))
}

function judgeForm(file: SourceFile): Finding[] {
  const tooLong =
    file.lines > MAX_LINES
      ? at(
          file,
          MAX_LINES,
          `${file.lines} lines, at most ${MAX_LINES}: split it by what it decides`,
        )
      : []
  const switchedOff = file.comments.flatMap(({ text, line }) => {
    const found = SWITCHES_OFF.exec(text)
    return found === null ? [] : at(file, line, `no rule is switched off here: ${found[0]}`)
  })
  return [...tooLong, ...switchedOff]
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return (specifier.startsWith('@') ? parts.slice(0, 2) : parts.slice(0, 1)).join('/')
}

function isMember(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text
  return before === '.' || before === '?.'
}

function isWord(token: Token | undefined, text: string): boolean {
  return token?.kind === 'word' && token.text === text
}

function at(
  { path }: { readonly path: string },
  line: number,
  message: string | undefined,
): Finding[] {
  return message === undefined ? [] : [{ file: path, line, message }]
}
