import { expect } from 'chai'
import { changesOf } from './diff.ts'

describe('what an apply would change', () => {
  for (const [sentence, wanted, record, lines] of [
    ['is all of it where there is nothing', { replicas: 3 }, undefined, ['+ it would be created']],
    ['is nothing where all is as wanted', { replicas: 3 }, { replicas: 3, status: 'Running' }, []],
    [
      'is each field that differs',
      { replicas: 3, tags: { a: 'b' } },
      { replicas: 1, tags: {} },
      ['~ replicas: 1 -> 3', '~ tags: {} -> {"a":"b"}'],
    ],
    ['is no field that only got defaults', { quota: { cpu: '1' } }, { quota: { cpu: '1', memory: null } }, []],
    ['is a list that differs in one item', { list: [1, 2] }, { list: [1] }, ['~ list: [1] -> [1,2]']],
    ['cannot be told of what REST does not show', { onDelete: 'Retain' }, {}, ['? onDelete is not shown by REST']],
  ] as const) {
    it(sentence, () => expect(changesOf(wanted, record)).to.deep.equal(lines))
  }
})
