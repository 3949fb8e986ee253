import { isRecord } from '../../core/isRecord.ts'

/** Limits per text and for all texts of a report, in characters. The longest texts of our own have a few hundred. */
const MAX_TEXT_LENGTH = 2_048
const MAX_TOTAL_LENGTH = 64 * 1024
const MAX_ITEMS = 500

type Budget = { characters: number }

/**
 * Truncates a report about another cluster to what a status may hold. That cluster may be controlled by somebody else,
 * and its words are stored here on every change.
 */
export function truncateReport<Report extends object>(report: Report): Report {
  return truncate(report, { characters: MAX_TOTAL_LENGTH }) as Report
}

function truncate(value: unknown, budget: Budget): unknown {
  if (typeof value === 'string') return truncateText(value, budget)
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => truncate(item, budget))
  if (!isRecord(value)) return value
  const fields = Object.entries(value).slice(0, MAX_ITEMS)
  return Object.fromEntries(fields.map(([name, part]) => [name, truncate(part, budget)]))
}

function truncateText(text: string, budget: Budget): string {
  // Do not split a surrogate pair.
  const truncated = text.slice(0, Math.min(MAX_TEXT_LENGTH, budget.characters)).replace(/[\ud800-\udbff]$/, '')
  budget.characters -= truncated.length
  return truncated.replaceAll(/\p{Cc}/gu, ' ')
}
