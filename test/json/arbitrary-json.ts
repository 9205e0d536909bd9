/**
 * Random JSON texts for property tests: any value, written with random white space, escapes,
 * number lexemes beyond a double, and keys nobody knows. Imported by tests only.
 */
import fc from 'fast-check'

const space = fc.stringMatching(/^[ \n\r\t]{0,3}$/)
const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1.50',
    '9007199254740993',
    '-1e2',
    '1E+05',
    '0.1e-7',
    '123456789012345678901234567890',
  ),
  fc.integer().map(String),
)

/** A JSON string literal: each character plain or as an escape, by chance. */
export const stringText: fc.Arbitrary<string> = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom(
          '"',
          '\\',
          '/',
          '\n',
          '\u0000',
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          'ж',
          '你',
          '😀',
        ),
      ),
      fc.boolean(),
    ),
    { maxLength: 8 },
  )
  .map((parts) => `"${parts.map(([text, escaped]) => writeText(text, escaped)).join('')}"`)

/** Keys of objects: unescaped text, unique after unescaping where they are used. */
const key = fc.tuple(
  fc.oneof(
    fc.constantFrom('_meta', 'name', 'id', 'x', '__proto__', ''),
    fc.string({ maxLength: 6 }),
  ),
  fc.boolean(),
)

/** A sound JSON text, without repeated keys. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthIdentifier: 'json' },
      fc.oneof(fc.constantFrom('null', 'true', 'false'), number, stringText),
      tie('object'),
      fc
        .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
        .map(
          ([lead, items]) =>
            `[${items.length === 0 ? lead : items.map((item) => item.join('')).join(',')}]`,
        ),
    ),
    object: fc
      .tuple(
        space,
        fc.uniqueArray(fc.tuple(space, key, space, space, tie('value'), space), {
          maxLength: 5,
          selector: ([, [text]]) => text,
        }),
      )
      .map(
        ([lead, members]) =>
          `{${members.length === 0 ? lead : members.map(writeMember).join(',')}}`,
      ),
  }),
).value

/** A sound JSON object text. */
export const objectText: fc.Arbitrary<string> = jsonText.filter((text) => text.startsWith('{'))

function writeMember([a, [text, escaped], b, c, value, d]: [
  string,
  [string, boolean],
  string,
  string,
  string,
  string,
]): string {
  return `${a}"${Array.from(text, (character) => writeText(character, escaped)).join('')}"${b}:${c}${value}${d}`
}

/** One character (surrogate pairs stay pairs) of a string literal. */
function writeText(text: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(text).slice(1, -1)
  return [...Array(text.length).keys()]
    .map((index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('')
}
