import { expect } from 'chai'
import { GROUP_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../src/core/namespaces.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { KINDS } from '../../src/crds/index.ts'
import { namespace } from '../../src/kube/builtin.ts'
import { KubeError } from '../../src/kube/errors.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { ASKED, untilPoliciesJudge } from './policies.ts'

const ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'

describe('untilPoliciesJudge', () => {
  const boundary = { apiVersion: Boundary.apiVersion, kind: 'Boundary', metadata: { name: ID } }
  const fakeWith = (...namespaces: object[]) => {
    const client = new FakeKubeClient()
    for (const each of namespaces) client.seed(namespace, each as never)
    return client
  }
  const never = new AbortController().signal

  it('asks about every kind that is judged beside another', () => {
    const beside = KINDS.filter((kind) => (kind.parameterizedRules ?? []).length > 0).map(({ kind }) => kind)
    expect(ASKED.map(({ kind }) => kind.kind)).to.have.members(beside)
    for (const { kind, spec } of ASKED) expect(kind.spec.safeParse(spec).error, kind.kind).to.equal(undefined)
  })

  it('repeats a dry run in the namespaces of each kind until its policy answers', async () => {
    const client = fakeWith(boundaryNamespaceObject(boundary), groupNamespaceObject(ID, 'shop', 'life'))
    const asked: string[] = []
    await untilPoliciesJudge(
      {
        list: client.list.bind(client),
        create: async (resource, object, options) => {
          asked.push(`${object.kind} in ${object.metadata.namespace}, dry run: ${options?.dryRun}`)
          throw new KubeError(asked.length < 2 ? 'Unavailable' : 'Forbidden', 'no', { status: 403, resource })
        },
      },
      never,
    )
    const one = `BoundaryProjection in ${boundaryNamespace(ID)}, dry run: true`
    expect(asked).to.deep.equal([one, one])
  })

  it('asks nothing if no namespace of the platform exists', async () => {
    const client = fakeWith({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'other', labels: { [GROUP_LABEL]: 'x' } },
    })
    await untilPoliciesJudge(client, never)
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(['list'])
  })
})
