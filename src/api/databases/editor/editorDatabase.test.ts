import { expect } from 'chai'
import { SqlFault, type SqlFaultReason } from '../../../adapters/sql/port.ts'
import { ERROR_STATUS, PlatformError } from '../../../core/errors.ts'
import type { Table } from '../../../editor/catalogue.ts'
import { translateSqlError } from './editorDatabase.ts'

const items = { name: 'items', columns: [{ name: 'id' }, { name: 'name' }] } as unknown as Table

describe('translateSqlError', () => {
  // Interface, section 4.5: the codes of the editor.
  const cases: [reason: SqlFaultReason, code: string, status: number][] = [
    ['Unreachable', 'DATABASE_UNREACHABLE', 502],
    ['Unauthorized', 'DATABASE_UNREACHABLE', 502],
    ['DatabaseNotFound', 'DATABASE_UNREACHABLE', 502],
    ['Cancelled', 'DATABASE_UNREACHABLE', 502],
    ['TableNotFound', 'TABLE_NOT_FOUND', 404],
    ['RowNotFound', 'ROW_NOT_FOUND', 404],
    ['InvalidValue', 'INVALID_VALUE', 400],
    ['UnknownColumn', 'UNKNOWN_COLUMN', 400],
    ['ColumnNotWritable', 'COLUMN_NOT_WRITABLE', 400],
    ['CompositeKey', 'COMPOSITE_KEY', 400],
    ['NoPrimaryKey', 'NO_PRIMARY_KEY', 409],
    ['RowChanged', 'ROW_CHANGED', 409],
    ['DuplicateKey', 'DUPLICATE_KEY', 409],
    ['ConstraintViolation', 'CONSTRAINT_VIOLATION', 422],
    ['Deadlock', 'DEADLOCK', 409],
    ['Timeout', 'QUERY_TIMEOUT', 503],
    ['TooLarge', 'BAD_REQUEST', 400],
    ['Failed', 'UPSTREAM_FAILED', 502],
  ]
  for (const [reason, code, status] of cases) {
    it(`maps ${reason} to ${status} ${code}, with the index and without the engine code`, () => {
      const fault = new SqlFault(reason, 'words with a secret in them', { engineCode: '40001', index: 3 })
      const refusal = translateSqlError(fault, items)
      if (!(refusal instanceof PlatformError)) throw new Error('That is not one of our refusals.')
      expect([refusal.code, ERROR_STATUS[refusal.code]]).to.deep.equal([code, status])
      expect(refusal.extras).to.deep.equal({ index: 3 })
    })
  }

  const spoken: SqlFaultReason[] = [
    'Unreachable',
    'Unauthorized',
    'DatabaseNotFound',
    'InvalidValue',
    'DuplicateKey',
    'Timeout',
    'Deadlock',
  ]
  for (const reason of spoken) {
    it(`replaces the message of the engine for ${reason}`, () => {
      const refusal = translateSqlError(new SqlFault(reason, 'secret', { engineCode: '1205' })) as PlatformError
      expect(refusal.message).to.not.contain('secret')
    })
  }

  it('shows the current row after RowChanged', () => {
    const fault = new SqlFault('RowChanged', 'It is another one.', { current: [1, 'pen'] })
    const refusal = translateSqlError(fault, items) as PlatformError
    expect(refusal.extras.current).to.deep.include({ values: { id: 1, name: 'pen' } })
  })

  it('returns other errors unchanged', () => {
    const error = new Error('of our own')
    expect(translateSqlError(error)).to.equal(error)
  })
})
