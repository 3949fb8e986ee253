import { isRecord } from '../../core/isRecord.ts'

/** Limits per text and for all texts of a report, in characters. The longest texts of our own have a few hundred. */
const TEXT_MAX = 2_048
const ALL_MAX = 64 * 1024
const ITEMS_MAX = 500

type Left = { characters: number }

/**
 * Truncates a report about another cluster to what a status may hold. That cluster may be controlled by somebody else,
 * and its words are stored here on every change.
 */
export function truncateReport<Report extends object>(report: Report): Report {
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
  // Do not split a surrogate pair.
  const cut = text.slice(0, Math.min(TEXT_MAX, left.characters)).replace(/[\ud800-\udbff]$/, '')
  left.characters -= cut.length
  return cut.replaceAll(/\p{Cc}/gu, ' ')
}
