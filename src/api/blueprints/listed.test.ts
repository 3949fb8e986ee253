import { expect } from 'chai'
import { boundaryNamespace } from '../../core/names.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { listBlueprints } from './catalogue.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'

/** A template that takes much more memory when parsed than what lists show of it. */
function contentOf(slug: string): string {
  const components = Array.from({ length: 20 }, (_, at) => {
    const spec = `computePlan: vector-dev\n      replicas: 1\n      tags: { ${Array.from({ length: 40 }, (_, tag) => `t${tag}: v`).join(', ')} }`
    return `  - name: v${at}\n    collection: vectorclusters\n    resourceName: \${deploy.name}-${at}\n    spec:\n      ${spec}`
  })
  return `format: 1\nslug: ${slug}\nname: ${slug}\nversion: 1.0.0\ndescription: Many.\ncategory: Ai\nicon: database\nparameters: []\ncomponents:\n${components.join('\n')}\noutputs: []\n`
}

describe('listBlueprints', () => {
  it('parses each template once, although together they exceed the cache of parsed ones', async () => {
    let reads = 0
    const templates = Array.from({ length: 200 }, (_, at) => ({
      metadata: { name: `t-${at}`, namespace: boundaryNamespace(BOUNDARY), uid: `uid-${at}`, resourceVersion: '1' },
      spec: {
        slug: `t-${at}`,
        get content() {
          reads += 1
          return contentOf(`t-${at}`)
        },
      },
    }))
    const peekAll = (kind: unknown, { namespace }: { namespace: string }) =>
      kind === BlueprintTemplate && namespace === boundaryNamespace(BOUNDARY) ? templates : []
    const list = () => listBlueprints({ records: { peekAll } } as never, BOUNDARY)
    const [first] = await list()
    expect(first?.shown.components).to.have.length(20)
    expect(first?.shown).to.deep.include({ isValid: true, permissions: ['vectorcluster/write'] })
    reads = 0
    expect(await list()).to.have.length(200)
    expect(reads).to.equal(0)
  })
})
