import { expect } from 'chai'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { blueprintOf, blueprintsOf, type TemplateObject } from './catalogue.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const { apiVersion, kind } = BlueprintTemplate

function stored(slug: string, resourceVersion = '1'): TemplateObject {
  const metadata = { name: slug, namespace: 'home', uid: `uid-${slug}`, resourceVersion }
  return { apiVersion, kind, metadata, spec: { slug, content: `name: ${slug}` } } as never
}

describe('templates in the catalogue', () => {
  it('are read once for each version that is stored', () => {
    const { read } = blueprintOf(stored('once'))
    expect(blueprintOf(stored('once')).read).to.equal(read)
    expect(blueprintOf(stored('once', '2')).read).not.to.equal(read)
  })

  it('let others have their turn after each that is read for a list, and none if all are known', async () => {
    const objects = ['a', 'b', 'c', 'd'].map((slug) => stored(`turns-${slug}`))
    const records = {
      peekAll: (_: unknown, { namespace }: { namespace: string }) => (namespace.includes(BOUNDARY) ? objects : []),
    }
    const turnsOf = async () => {
      let turns = 0
      let isOver = false
      const count = () => {
        turns += 1
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const found = await blueprintsOf({ records } as never, BOUNDARY)
      isOver = true
      expect(found).to.have.length(4)
      return turns
    }
    expect(await turnsOf()).to.be.at.least(4)
    expect(await turnsOf()).to.equal(0)
  })
})
