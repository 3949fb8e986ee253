import { expect } from 'chai'
import { turnsDuring } from '../../../test/make/turns.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import {
  blueprintOf,
  listBlueprints,
  readCheckedTemplate,
  readCheckedTemplateSliced,
  type TemplateObject,
} from './catalogue.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const { apiVersion, kind } = BlueprintTemplate

function stored(slug: string, resourceVersion = '1'): TemplateObject {
  const metadata = { name: slug, namespace: 'home', uid: `uid-${slug}`, resourceVersion }
  return { apiVersion, kind, metadata, spec: { slug, content: `name: ${slug}` } } as never
}

describe('catalogue of blueprints', () => {
  it('parses a template once per resourceVersion, and not again after it was checked', async () => {
    const { read } = await blueprintOf(stored('once'))
    expect((await blueprintOf(stored('once'))).read).to.equal(read)
    expect((await blueprintOf(stored('once', '2'))).read).not.to.equal(read)
    const given = await readCheckedTemplate('name: given')
    expect((await blueprintOf(stored('given'))).read).to.equal(given)
  })

  const head = 'format: 1\nslug: long\nname: Long\nversion: 1.0.0\ncomponents:\n'
  const component = `- name: a\n  collection: apps\n  resourceName: a\n  spec:\n`
  const lines = (count: number, line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => line(at)).join('')
  const longest: [sentence: string, content: string][] = [
    ['tag names', `${head}${component}    tags:\n${lines(2_400, (at) => `      k${at}: v\n`)}`],
    ['unknown fields', `${head}${component}${lines(2_400, (at) => `    k${at}: v\n`)}`],
    ['list items', `${head}${component}    command:\n${lines(4_900, () => '    - v\n')}`],
    [
      'variables',
      `${head}${component}    environment:\n${lines(900, (at) => `    - {name: K${at}, value: "\${deploy.name}"}\n`)}`,
    ],
    ['invalid content', lines(2_400, (at) => `k${at}: v\n`)],
  ]
  for (const [sentence, content] of longest) {
    it(`parses a template of maximum size in at least 5 slices: ${sentence}`, async () => {
      let slices = 0
      const work = readCheckedTemplateSliced(content)
      while (work.next().done !== true) slices += 1
      expect(slices).to.be.at.least(5)
    })
  }

  it('yields after each template that it parses for a list, and not if all are cached', async () => {
    const objects = ['a', 'b', 'c', 'd'].map((slug) => stored(`turns-${slug}`))
    const records = {
      peekAll: (_: unknown, { namespace }: { namespace: string }) => (namespace.includes(BOUNDARY) ? objects : []),
    }
    const turnsOf = async () => {
      const { turns, result } = await turnsDuring(() => listBlueprints({ records } as never, BOUNDARY))
      expect(result).to.have.length(4)
      return turns
    }
    expect(await turnsOf()).to.be.at.least(4)
    expect(await turnsOf()).to.equal(0)
  })
})
