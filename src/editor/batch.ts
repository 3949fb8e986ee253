import type { Classification } from './classification.ts'
import { classify } from './classify.ts'
import type { Dialect } from './dialect.ts'
import { type HistoryTexts, historyTexts } from './history.ts'

export type ReadBatch = HistoryTexts & { classification: Classification }

/** Analyses a batch before it runs. Parsing may take up to a second. */
export async function readBatch(dialect: Dialect, sql: string, parameters: ReadonlySet<string>): Promise<ReadBatch> {
  const classification = await classify(dialect, sql, parameters)
  return { classification, ...historyTexts(dialect, sql, classification.kind) }
}
