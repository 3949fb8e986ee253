import { expect } from 'chai'
import type { Column, Table } from '../../../editor/catalogue.ts'
import { filterOf } from './filters.ts'

const column = (name: string) => ({ name, fullType: 'text', encoding: 'text' }) as unknown as Column
const TABLE = { name: 'orders', columns: ['a', 'state', 'at:ge', 'a:b'].map(column) } as unknown as Table

describe('a filter of rows', () => {
  const cases: [string, string, string, string, string[]][] = [
    ['keeps spaces and colons of the value', 'state:eq:on its way: 10:30', 'state', 'eq', ['on its way: 10:30']],
    ['keeps quotes', `state:ne:"it's"`, 'state', 'ne', [`"it's"`]],
    ['splits at commas, but not at escaped ones', 'state:in:a\\,b,c d,', 'state', 'in', ['a,b', 'c d', '']],
    ['reads the first two colons as those that separate', 'a:eq:b:eq:c', 'a', 'eq', ['b:eq:c']],
    ['finds a column whose name has a colon', 'at:ge:eq:1', 'at:ge', 'eq', ['1']],
  ]
  for (const [sentence, text, name, operator, values] of cases) {
    it(sentence, () => {
      const filter = filterOf(TABLE, text)
      expect([filter.column.name, filter.operator, filter.values]).to.deep.equal([name, operator, values])
    })
  }
})
