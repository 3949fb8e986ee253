import type { Classification } from './classification.ts'
import { classify } from './classify.ts'
import type { Dialect } from './dialect.ts'
import { maskedSql } from './history.ts'

export type ReadBatch = {
  classification: Classification
  /** Without any literal, for the history. */
  masked: string
}

/** Everything that the editor has to know of a batch before it runs: up to a second of reading. */
export async function readBatch(dialect: Dialect, sql: string, parameters: ReadonlySet<string>): Promise<ReadBatch> {
  return { classification: await classify(dialect, sql, parameters), masked: maskedSql(dialect, sql) }
}
