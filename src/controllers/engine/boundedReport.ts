import { isRecord } from '../../core/isRecord.ts'

/** Characters of a text, and of all texts of one report; the longest that we make ourselves have a few hundred. */
const TEXT_MAX = 2_048
const ALL_MAX = 64 * 1024
const ITEMS_MAX = 500

type Left = { characters: number }

/**
 * What is reported of work in another cluster, as far as a status holds it. That cluster may be in the hands of somebody else,
 * and whatever it says is stored here, again at each change.
 */
export function boundedReport<Report extends object>(report: Report): Report {
  return bounded(report, { characters: ALL_MAX }) as Report
}

function bounded(value: unknown, left: Left): unknown {
  if (typeof value === 'string') return boundedText(value, left)
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => bounded(item, left))
  if (!isRecord(value)) return value
  const fields = Object.entries(value).slice(0, ITEMS_MAX)
  return Object.fromEntries(fields.map(([name, part]) => [name, bounded(part, left)]))
}

function boundedText(text: string, left: Left): string {
  // Not in the middle of a character of two halves.
  const cut = text.slice(0, Math.min(TEXT_MAX, left.characters)).replace(/[\ud800-\udbff]$/, '')
  left.characters -= cut.length
  return cut.replaceAll(/\p{Cc}/gu, ' ')
}
