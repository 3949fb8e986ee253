import { expect } from 'chai'
import { PlatformApiError } from '../client/index.ts'
import { chooseRoute, deriveCollections, findCollection } from './collections.ts'
import { describeFailure } from './describeFailure.ts'
import { renderRecords } from './output.ts'
import { listSubresourceRoutes } from './requests.ts'

describe('listSubresourceRoutes', () => {
  const target = (word: string, name: string) =>
    chooseRoute(findCollection(word, deriveCollections()), 'get', { name, boundary: 'b', group: 'g' })

  it('returns the subresources of the route table', () => {
    const words = listSubresourceRoutes(target('vectorclusters', 'x'), 'GET').map((route) => route.words)
    expect(words).to.include.members(['apikey', 'connectioninfo', 'health', 'scale'])
    expect(listSubresourceRoutes(target('jobs', 'x'), 'GET').map((route) => route.words)).to.include('logs')
  })

  it('marks routes that return secrets', () => {
    const all = listSubresourceRoutes(target('vectorclusters', 'x'), 'GET')
    expect(all.find(({ words }) => words === 'apikey')?.operation.isData).to.equal(true)
    expect(all.find(({ words }) => words === 'health')?.operation.isData).to.equal(undefined)
  })
})

describe('describeFailure with details of a conflict', () => {
  const lines = (body: object) =>
    describeFailure(new PlatformApiError(409, new Headers(), JSON.stringify({ error: 'No.', code: 'IN_USE', ...body })))
      .lines

  it('lists the resources that prevent a deletion', () => {
    expect(lines({ resourceGroups: ['search', 'shop'] })).to.deep.equal([
      'No. (IN_USE, 409)',
      '  resourceGroups: search, shop',
    ])
    expect(lines({ usedBy: [{ name: 'photos' }, { id: '1' }] })[1]).to.equal('  usedBy: photos, 1')
    expect(lines({ errors: [{ field: 'a', message: 'b' }] })).to.deep.equal(['No. (IN_USE, 409)', '  a: b'])
    expect(lines({ missing: ['a', 'b'], taken: [{ odd: 1 }] })).to.deep.equal([
      'No. (IN_USE, 409)',
      '  missing: a, b',
      '  taken:',
      '    odd: 1',
    ])
  })

  it('has one line for each problem of a list', () => {
    const problem = { severity: 'Error', code: 'UnknownField', path: 'spec.a', line: 7, column: 3, message: 'No "a".' }
    const warning = { ...problem, severity: 'Warning', path: '', line: null, column: null, message: 'Old.' }
    expect(
      lines({ problems: [problem, warning, { component: 'traefik', message: 'It is still being read.' }] }),
    ).to.deep.equal([
      'No. (IN_USE, 409)',
      '  problems:',
      '    line 7: spec.a: No "a". (UnknownField)',
      '    Warning: Old. (UnknownField)',
      '    traefik: It is still being read.',
    ])
  })
})

describe('describeFailure with several violations', () => {
  const lines = (error: string, sentences: string[]) =>
    describeFailure(
      new PlatformApiError(422, new Headers(), JSON.stringify({ error, code: 'POLICY', violations: sentences })),
    ).lines

  it('has one line for each, unless the error already contains them', () => {
    const sentences = ['It must have a digit.', 'It must have a letter.']
    expect(lines('No.', sentences)).to.deep.equal([
      'No. (POLICY, 422)',
      '  violations:',
      '    It must have a digit.',
      '    It must have a letter.',
    ])
    const all = 'It must have a digit; It must have a letter.'
    const bare = sentences.map((sentence) => sentence.slice(0, -1))
    expect(lines(all, bare)).to.deep.equal([`${all} (POLICY, 422)`])
  })
})

describe('renderRecords with a name field', () => {
  const plans = [{ id: 'vector-medium', name: 'Medium', a: 1, b: 2, c: 3, d: 4, e: 5, f: 'x'.repeat(80) }]

  it('shows the values that commands take as NAME', () => {
    expect(renderRecords(plans, 'name', 'id')).to.equal('vector-medium\n')
    expect(renderRecords(plans, 'table', 'id')).to.match(/^NAME +ID .*\nMedium +vector-medium /)
    expect(renderRecords(plans, 'table')).to.not.contain('vector-medium')
    expect(renderRecords(plans[0], 'name')).to.equal('Medium\n')
  })

  it('shortens nothing in the format wide', () => {
    expect(renderRecords(plans, 'table', 'id')).to.not.contain('xxx')
    expect(renderRecords(plans, 'wide', 'id')).to.contain('x'.repeat(80))
  })
})
