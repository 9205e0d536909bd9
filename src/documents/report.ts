/**
 * The report about a document: what it is and how it is built, in the language asked for.
 */
import type { Language, ReportOutput } from './contracts.ts'
import { MAX_REPORT_HEADINGS } from './contracts.ts'
import { cite } from './cite.ts'
import type { Document } from './document.ts'
import { findHeadings } from './headings.ts'
import { textOfLines } from './lines.ts'

interface Words {
  readonly heading: string
  readonly document: string
  readonly version: string
  readonly digest: string
  readonly modified: string
  readonly size: (bytes: number, lines: number, blank: number) => string
  readonly outline: string
  readonly noHeadings: string
  readonly atLine: (line: number) => string
  readonly more: (count: number) => string
}

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    heading: 'Document report',
    document: 'Document',
    version: 'Version',
    digest: 'Digest',
    modified: 'Last modified',
    size: (bytes, lines, blank) => `Size: ${bytes} bytes, ${lines} lines, ${blank} of them blank`,
    outline: 'Headings',
    noHeadings: 'It has no headings.',
    atLine: (line) => `line ${line}`,
    more: (count) => `and ${count} more`,
  },
  zh: {
    heading: '文档报告',
    document: '文档',
    version: '版本',
    digest: '摘要',
    modified: '最后修改',
    size: (bytes, lines, blank) => `大小：${bytes} 字节，共 ${lines} 行，其中空行 ${blank} 行`,
    outline: '标题',
    noHeadings: '没有标题。',
    atLine: (line) => `第 ${line} 行`,
    more: (count) => `另有 ${count} 个`,
  },
}

/** Makes the report of one document. */
export function createReport(
  document: Document,
  language: Language,
): Omit<ReportOutput, 'requestId'> {
  const { id, title, version, digest, lineStarts } = document
  const all = findHeadings(document)
  const headings = all.slice(0, MAX_REPORT_HEADINGS)
  const totalLines = lineStarts.length
  const blankLines = countBlank(document)
  const words = WORDS[language]
  const colon = language === 'zh' ? '：' : ': '
  const outline = headings.map(
    (heading) =>
      `${'  '.repeat(heading.level - 1)}- ${heading.text} (${words.atLine(heading.line)})`,
  )
  const lines = [
    `# ${words.heading}${colon}${title}`,
    '',
    `- ${words.document}${colon}${id}`,
    `- ${words.version}${colon}${version}`,
    `- ${words.digest}${colon}${digest}`,
    `- ${words.modified}${colon}${document.modifiedAt}`,
    `- ${words.size(document.bytes, totalLines, blankLines)}`,
    '',
    `## ${words.outline}`,
    '',
    ...(outline.length === 0 ? [words.noHeadings] : outline),
    ...(all.length > headings.length ? [`- ${words.more(all.length - headings.length)}`] : []),
  ]
  return {
    ...cite(document),
    title,
    language,
    totalLines,
    blankLines,
    headings,
    report: `${lines.join('\n')}\n`,
    truncated: all.length > headings.length,
  }
}

function countBlank({ text, lineStarts }: Document): number {
  let blank = 0
  for (let line = 1; line <= lineStarts.length; line++) {
    if (textOfLines(text, lineStarts, { start: line, end: line }).trim() === '') blank++
  }
  return blank
}
