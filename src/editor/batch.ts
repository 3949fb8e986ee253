import type { Classification } from './classification.ts'
import { classify } from './classify.ts'
import type { Dialect } from './dialect.ts'
import { maskedSql, shownSql } from './history.ts'

export type ReadBatch = {
  classification: Classification
  /** For the history: with all literals masked, and as callers see it who may read rows. */
  masked: string
  shown: string
}

/** Analyses a batch before it runs. Parsing may take up to a second. */
export async function readBatch(dialect: Dialect, sql: string, parameters: ReadonlySet<string>): Promise<ReadBatch> {
  const classification = await classify(dialect, sql, parameters)
  return { classification, masked: maskedSql(dialect, sql), shown: shownSql(dialect, sql, classification.kind) }
}
