/**
 * Falsifies one quote of a finished report, on purpose.
 *
 * Only for showing that a host checks what it is given: everything else of the delivery stays true,
 * the document, the lines and the digest of the falsified citation included.
 */
import { writeCitations, type Report } from './report.ts'

/** The report's text with the quote of one citation changed by one word. */
export function forgeQuote(report: Report): string {
  const chosen = Math.floor(report.citations.length / 2)
  const forged = report.citations.map((citation, index) =>
    index === chosen ? { ...citation, quote: `${citation.quote} (optional)` } : citation,
  )
  return report.markdown.replace(writeCitations(report.citations), () => writeCitations(forged))
}
