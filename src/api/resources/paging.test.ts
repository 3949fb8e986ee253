import { expect } from 'chai'
import { PlatformError } from '../../core/errors.ts'
import { applyListRequest, sortRows } from './appliedList.ts'
import { type ListShape, parseDateTime, parseListRequest, text } from './paging.ts'
import { QueryFaults } from './queryFaults.ts'

type Row = {
  name: string
  id: string
  size: string | null
  at: string
  count: number | null
  on: boolean
  state: string
  tags: Record<string, string>
}

const shape: ListShape<Row> = {
  fields: {
    name: { title: 'Name', type: 'text', of: (row) => row.name, isSearched: true },
    size: { title: 'Size', type: 'quantity', of: (row) => row.size },
    at: { title: 'At', type: 'dateTime', of: (row) => row.at },
    count: { title: 'Count', type: 'number', of: (row) => row.count },
    on: { title: 'On', type: 'boolean', of: (row) => row.on },
    state: {
      title: 'State',
      type: 'enumeration',
      values: ['Running', 'Failed', 'AwaitingLogin'],
      of: (row) => row.state,
    },
    secretive: { title: 'Neither', type: 'text', of: () => 'x', isFiltered: false, isSorted: false },
  },
  defaultSort: 'name',
  nameOf: (row) => row.name,
  idOf: (row) => row.id,
  tagsOf: (row) => row.tags,
  limitName: 'limit',
  limitMax: 200,
}

const rows: Row[] = [
  {
    name: 'b',
    id: '2',
    size: '1Gi',
    at: '2026-01-02T00:00:00Z',
    count: 10,
    on: true,
    state: 'Running',
    tags: { team: 'search', 'a:b': 'x' },
  },
  {
    name: 'a',
    id: '1',
    size: '500Mi',
    at: '2026-01-01T00:00:00+01:00',
    count: 9,
    on: false,
    state: 'Failed',
    tags: {},
  },
  {
    name: 'Orders, all',
    id: '4',
    size: null,
    at: '2026-01-03T00:00:00Z',
    count: null,
    on: true,
    state: 'Running',
    tags: { team: 'Shop' },
  },
  { name: 'b', id: '1', size: '2', at: '2026-01-02T00:00:00Z', count: 10, on: true, state: 'Running', tags: {} },
]

function query(text: string): Record<string, string[]> {
  const result: Record<string, string[]> = {}
  for (const [name, value] of new URLSearchParams(text)) result[name] = [...(result[name] ?? []), value]
  return result
}
function list(text: string) {
  const faults = new QueryFaults()
  const request = parseListRequest(query(text), shape, faults)
  faults.refuse()
  return applyListRequest(rows, request, shape)
}
const ids = (text: string) => list(text).rows.map(({ name, id }) => `${name}${id}`)

describe('applyListRequest', () => {
  const answers: [string, string, string[]][] = [
    ['sorts by the default, then name, then id', '', ['a1', 'b1', 'b2', 'Orders, all4']],
    ['sorts descending, with ties in the same order', 'sort=-name', ['Orders, all4', 'b1', 'b2', 'a1']],
    ['sorts quantities by value, null last', 'sort=size', ['b1', 'a1', 'b2', 'Orders, all4']],
    ['sorts null last when descending', 'sort=-size', ['b2', 'a1', 'b1', 'Orders, all4']],
    ['sorts numbers as numbers', 'sort=count', ['a1', 'b1', 'b2', 'Orders, all4']],
    ['sorts times across time zones', 'sort=at', ['a1', 'b1', 'b2', 'Orders, all4']],
    ['returns nothing beyond the last page', 'page=9', []],
    ['returns the second page', 'page=2&pageSize=3', ['Orders, all4']],
    ['accepts limit as the size of the first page', 'limit=1', ['a1']],
    ['accepts a pageSize above limitMax', 'pageSize=500', ['a1', 'b1', 'b2', 'Orders, all4']],
    ['filters by equality', 'filter=name:eq:b', ['b1', 'b2']],
    ['compares texts case-sensitively', 'filter=name:eq:B', []],
    ['compares enumerations case-insensitively', 'filter=state:eq:failed', ['a1']],
    ['compares enumerations without spaces', 'filter=state:eq:Awaiting+login', []],
    ['compares enumerations of a list without case and spaces', 'filter=state:in:Awaiting%20login,FAILED', ['a1']],
    ['treats null as not equal', 'filter=count:ne:10', ['a1', 'Orders, all4']],
    ['filters by a list of values', 'filter=name:in:a,b', ['a1', 'b1', 'b2']],
    ['accepts an escaped comma in a value', 'filter=name:in:Orders\\, all,a', ['a1', 'Orders, all4']],
    ['finds a substring case-insensitively', 'filter=name:contains:ORDERS', ['Orders, all4']],
    ['finds a prefix case-insensitively', 'filter=name:startsWith:oRD', ['Orders, all4']],
    ['compares times', 'filter=at:ge:2026-01-02T00:00:00Z', ['b1', 'b2', 'Orders, all4']],
    ['compares quantities', 'filter=size:gt:600Mi', ['b2']],
    ['compares numbers', 'filter=count:lt:10', ['a1']],
    ['compares booleans', 'filter=on:eq:false', ['a1']],
    ['filters by the existence of a value', 'filter=count:exists:false', ['Orders, all4']],
    ['combines all filters', 'filter=name:eq:b&filter=tags.team:eq:search', ['b2']],
    ['filters by a tag whose key contains a colon', 'filter=tags.a:b:eq:x', ['b2']],
    ['filters by the existence of a tag', 'filter=tags.team:exists:true', ['b2', 'Orders, all4']],
    ['keeps colons in the value', 'filter=name:eq:a:b:c', []],
    ['searches names and tag values', 'search=SHOP', ['Orders, all4']],
    ['counts an emoji of a search as one character', `search=${encodeURIComponent('🦆'.repeat(128))}`, []],
    ['counts an emoji of a filter as one character', `filter=name:eq:${encodeURIComponent('🦆'.repeat(2000))}`, []],
    ['treats a tag named constructor as absent', 'filter=tags.constructor:exists:true', []],
  ]
  for (const [sentence, text, wanted] of answers) it(sentence, () => expect(ids(text)).to.deep.equal(wanted))

  it('sorts texts case-insensitively, and those that differ in case only in a fixed order', () => {
    type Named = { name: string; id: string }
    const named: ListShape<Named> = {
      fields: { name: text('Name') },
      defaultSort: 'name',
      nameOf: ({ name }) => name,
      idOf: ({ id }) => id,
    }
    const names = ['b', 'Éa', 'a', 'B', 'éb', 'A', 'a10', 'C', 'a']
    const sortedBy = (sort: string, given: readonly string[]) =>
      sortRows(
        given.map((name, index) => ({ name, id: String(index) })),
        sort,
        named,
      ).map(({ name }) => name)
    const wanted = ['A', 'a', 'a', 'a10', 'B', 'b', 'C', 'Éa', 'éb']
    expect(sortedBy('name', names)).to.deep.equal(wanted)
    expect(sortedBy('name', names.toReversed())).to.deep.equal(wanted)
    expect(sortedBy('-name', names)).to.deep.equal(wanted.toReversed())
  })

  const refused: [string, string, string][] = [
    ['page 0', 'page=0', 'page'],
    ['a negative page', 'page=-1', 'page'],
    ['a page that is not a number', 'page=one', 'page'],
    ['a fractional page', 'page=1.5', 'page'],
    ['a page in hexadecimal', 'page=0x1', 'page'],
    ['a page with a space', 'page=%201', 'page'],
    ['an empty page', 'page=', 'page'],
    ['a page of 11 digits', 'page=99999999999', 'page'],
    ['two pages', 'page=1&page=2', 'page'],
    ['pageSize 0', 'pageSize=0', 'pageSize'],
    ['pageSize 501', 'pageSize=501', 'pageSize'],
    ['a limit beyond that of the list', 'limit=201', 'limit'],
    ['an empty search', 'search=', 'search'],
    ['a long search', `search=${'a'.repeat(129)}`, 'search'],
    ['a long search of emoji', `search=${encodeURIComponent('🦆'.repeat(129))}`, 'search'],
    ['an unknown sort', 'sort=color', 'sort'],
    ['a sort that is not offered', 'sort=secretive', 'sort'],
    ['a sort by an inherited property', 'sort=constructor', 'sort'],
    ['a sort with two minus signs', 'sort=--name', 'sort'],
    ['a filter that is not offered', 'filter=secretive:eq:x', 'filter'],
    ['a filter by an inherited property', 'filter=__proto__:eq:x', 'filter'],
    ['a filter without an operator', 'filter=name', 'filter'],
    ['a filter without a value', 'filter=name:eq', 'filter'],
    ['a tag without a key', 'filter=tags.:eq:a', 'filter'],
    ['an invalid tag key', 'filter=tags.a%26b:eq:x', 'filter'],
    ['an unknown operator', 'filter=name:like:x', 'filter'],
    ['an upper-case operator', 'filter=name:EQ:x', 'filter'],
    ['an operator that the type does not support', 'filter=on:gt:true', 'filter'],
    ['contains on a number', 'filter=count:contains:1', 'filter'],
    ['an unknown state', 'filter=state:eq:Dancing', 'filter'],
    ['an unknown state among others', 'filter=state:in:Failed,Dancing', 'filter'],
    ['an invalid boolean', 'filter=on:eq:yes', 'filter'],
    ['exists without a boolean', 'filter=name:exists:maybe', 'filter'],
    ['an invalid number', 'filter=count:eq:1e9', 'filter'],
    ['an invalid quantity', 'filter=size:gt:big', 'filter'],
    ['a date without a time', 'filter=at:gt:2026-01-01', 'filter'],
    ['the 30th of February', 'filter=at:gt:2026-02-30T00:00:00Z', 'filter'],
    ['101 values', `filter=name:in:${'a,'.repeat(101)}`, 'filter'],
    ['a filter of 3,000 characters', `filter=name:eq:${'a'.repeat(3000)}`, 'filter'],
    ['21 filters', Array(21).fill('filter=name:eq:a').join('&'), 'filter'],
  ]
  for (const [sentence, text, parameter] of refused) {
    it(`rejects ${sentence}`, () => {
      expect(() => list(text))
        .to.throw(PlatformError)
        .with.nested.property('extras.parameter', parameter)
    })
  }

  it('returns the pagination', () => {
    expect(list('pageSize=3&page=2').pagination).to.deep.equal({
      ...{ page: 2, pageSize: 3, totalItems: 4, totalPages: 2, hasNextPage: false, hasPreviousPage: true },
    })
    expect(list('filter=name:eq:none').pagination).to.include({ totalItems: 0, totalPages: 0, hasPreviousPage: false })
  })
})

describe('parseDateTime', () => {
  for (const text of ['2026-01-01T00:00:00Z', '2024-02-29T23:59:59.123+05:30', '2026-01-01t00:00:00z']) {
    it(`parses ${text}`, () => expect(parseDateTime(text)).to.be.a('number'))
  }
  for (const text of [
    '2026-01-01',
    '2026-02-29T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '2026-13-01T00:00:00Z',
    '1',
    '',
    'now',
  ]) {
    it(`rejects "${text}"`, () => expect(parseDateTime(text)).to.equal(undefined))
  }
})
