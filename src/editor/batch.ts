import type { Classification } from './classification.ts'
import { classify } from './classify.ts'
import type { Dialect } from './dialect.ts'
import { maskedSql } from './history.ts'

export type ReadBatch = {
  classification: Classification
  /** With all literals masked, for the history. */
  masked: string
}

/** Analyses a batch before it runs. Parsing may take up to a second. */
export async function readBatch(dialect: Dialect, sql: string, parameters: ReadonlySet<string>): Promise<ReadBatch> {
  return { classification: await classify(dialect, sql, parameters), masked: maskedSql(dialect, sql) }
}
