import { expect } from 'chai'
import type { Column, Table } from '../../../editor/catalogue.ts'
import { filterOf } from './filters.ts'

const column = (name: string) => ({ name, fullType: 'text', encoding: 'text' }) as unknown as Column
const TABLE = { name: 'orders', columns: ['a', 'state', 'at:ge', 'a:b'].map(column) } as unknown as Table

describe('filterOf', () => {
  const cases: [string, string, string, string, string[]][] = [
    ['keeps spaces and colons in the value', 'state:eq:on its way: 10:30', 'state', 'eq', ['on its way: 10:30']],
    ['keeps quotes', `state:ne:"it's"`, 'state', 'ne', [`"it's"`]],
    ['splits at commas except escaped ones', 'state:in:a\\,b,c d,', 'state', 'in', ['a,b', 'c d', '']],
    ['separates at the first two colons only', 'a:eq:b:eq:c', 'a', 'eq', ['b:eq:c']],
    ['finds a column with a colon in its name', 'at:ge:eq:1', 'at:ge', 'eq', ['1']],
  ]
  for (const [sentence, text, name, operator, values] of cases) {
    it(sentence, () => {
      const filter = filterOf(TABLE, text)
      expect([filter.column.name, filter.operator, filter.values]).to.deep.equal([name, operator, values])
    })
  }
})
