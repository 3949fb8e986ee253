import type { Encoding } from '../../editor/values.ts'
import type { ResultColumn } from './port.ts'

/** Builds a result column, of which the protocol tells little more than name and type. */
export function resultColumn(name: string, ordinal: number, dataType: string, encoding: Encoding): ResultColumn {
  return {
    name,
    ordinal,
    dataType,
    encoding,
    isNullable: true,
    isPrimaryKey: false,
    isIdentity: false,
    isComputed: false,
    maxLength: null,
    precision: null,
    scale: null,
    defaultExpression: null,
  }
}
