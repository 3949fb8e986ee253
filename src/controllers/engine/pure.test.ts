import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { CacheView, Pass, Step } from './controller.ts'
import { withDeadline } from './deletion.ts'
import { contentOf } from './namespaceContent.ts'
import { belongsTo, type Owner, ownerIndexKeys, ownerKeyOf, withOwner } from './ownership.ts'
import { placeOf } from './place.ts'
import { currentStep, steps } from './steps.ts'

const OWNER: Owner = {
  object: {
    apiVersion: 'data.freehold.dev/v1alpha1',
    kind: 'VectorCluster',
    metadata: { name: 'orders', namespace: 'shop-1', uid: 'uid-1' },
  },
  resource: VectorCluster.resource,
  incarnation: 'inc-1',
  place: { boundaryId: 'b-1', resourceGroup: 'shop' },
  sameCluster: true,
}

const child = (metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'vc-orders', namespace: 'shop-1', ...metadata },
})

describe('steps', () => {
  const pass = {} as Pass
  const run = (...outcomes: Outcome[]) =>
    steps(
      ...outcomes.map(
        (outcome): Step =>
          () =>
            outcome,
      ),
    )(pass)

  it('end with the first outcome that is not done', async () => {
    const seen: string[] = []
    const step = (name: string, outcome: Outcome): Step => {
      return () => {
        seen.push(name)
        return outcome
      }
    }
    const list = steps(step('a', done()), step('b', stalled('PlanNotFound', 'x')), step('c', done()))
    expect(await list(pass)).to.deep.equal(stalled('PlanNotFound', 'x'))
    expect(seen).to.deep.equal(['a', 'b'])
  })

  it('come again at the earliest time that any of them asked for', async () => {
    expect(await run(done({ after: 9 }), done({ after: 4 }), done())).to.deep.equal({ kind: 'done', after: 4 })
  })

  it('are done for the last reason that was given', async () => {
    expect(await run(done(), done({ reason: 'Stopped', message: 'm' }), done())).to.deep.equal({
      kind: 'done',
      reason: 'Stopped',
      message: 'm',
    })
  })

  it('leave the name of the one that threw', async () => {
    const mine = {} as Pass
    await Promise.resolve(
      steps(function applyWorkload(): Outcome {
        throw new Error('x')
      })(mine),
    ).catch(() => {})
    expect(currentStep(mine)).to.equal('applyWorkload')
  })
})

describe('ownership', () => {
  it('is a reference, labels and the incarnation in the namespace of the owner', () => {
    expect(withOwner(child({ labels: { app: 'x' } }), OWNER).metadata).to.deep.equal({
      name: 'vc-orders',
      namespace: 'shop-1',
      labels: {
        app: 'x',
        'app.kubernetes.io/managed-by': 'freehold',
        'freehold.dev/owner-kind': 'VectorCluster',
        'freehold.dev/owner-name': 'orders',
        'freehold.dev/boundary': 'b-1',
        'freehold.dev/resource-group': 'shop',
      },
      annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      ownerReferences: [
        {
          apiVersion: 'data.freehold.dev/v1alpha1',
          kind: 'VectorCluster',
          name: 'orders',
          uid: 'uid-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    })
  })

  it('is never a reference across namespaces, which would make the collector delete the child', () => {
    const { ownerReferences, annotations } = withOwner(child({ namespace: 'elsewhere' }), OWNER).metadata
    expect(ownerReferences).to.equal(undefined)
    expect(annotations).to.include({ 'freehold.dev/owner-namespace': 'shop-1' })
  })

  it('is never a reference into another cluster', () => {
    expect(withOwner(child(), { ...OWNER, sameCluster: false }).metadata.ownerReferences).to.equal(undefined)
  })

  const reference = { apiVersion: 'v1', kind: 'X', name: 'orders', uid: 'uid-1' }
  const cases: [string, Partial<KubeObject['metadata']>, boolean][] = [
    ['an object with the uid of the owner is ours', { ownerReferences: [reference] }, true],
    [
      'an object with the incarnation is ours, even after a restore gave the owner a new uid',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-1' },
      },
      true,
    ],
    [
      'an object of a namesake that was deleted is not ours',
      {
        ownerReferences: [{ ...reference, uid: 'old' }],
        annotations: { 'freehold.dev/incarnation-of-owner': 'inc-0' },
      },
      false,
    ],
    ['an object with our labels only is not ours', { labels: { 'freehold.dev/owner-name': 'orders' } }, false],
  ]
  for (const [sentence, metadata, expected] of cases) {
    it(sentence, () => expect(belongsTo(child(metadata), OWNER)).to.equal(expected))
  }

  it('proves nothing where the owner has no incarnation yet', () => {
    const unmarked = { ...OWNER, incarnation: '', object: { ...OWNER.object, metadata: { name: 'orders' } } }
    expect(belongsTo(child({ annotations: { 'freehold.dev/incarnation-of-owner': '' } }), unmarked)).to.equal(false)
  })

  it('leads from a child back to the key of its owner, in its namespace and across', () => {
    const kind = VectorCluster.resource
    expect(ownerKeyOf(withOwner(child(), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child({ namespace: 'elsewhere' }), OWNER), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(withOwner(child(), { ...OWNER, sameCluster: false }), kind)).to.equal('shop-1/orders')
    expect(ownerKeyOf(child(), kind)).to.equal(undefined)
    expect(ownerKeyOf(withOwner(child(), OWNER), { ...kind, kind: 'Other' })).to.equal(undefined)
  })

  it('is indexed by uid and incarnation', () => {
    expect(ownerIndexKeys(withOwner(child(), OWNER))).to.deep.equal(['uid-1', 'inc-1'])
    expect(ownerIndexKeys(child())).to.deep.equal([])
  })
})

describe('the place of an object', () => {
  const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
  const view = (metadata?: Partial<KubeObject['metadata']>) =>
    ({
      get: (_: unknown, name: string) =>
        metadata && { apiVersion: 'v1', kind: 'Namespace', metadata: { ...metadata, name } },
    }) as unknown as CacheView
  const group = { placement: 'group', kind: 'VectorCluster' } as const
  const labels = { 'freehold.dev/boundary': BOUNDARY, 'freehold.dev/resource-group': 'shop' }

  it('is read from the labels of its namespace', () => {
    const { place, obstacle } = placeOf(group, child(), view({ labels }))
    expect(place).to.deep.equal({ boundaryId: BOUNDARY, resourceGroup: 'shop' })
    expect(obstacle).to.equal(undefined)
  })

  it('is waited for where the namespace is not seen yet, or goes away', () => {
    expect(placeOf(group, child(), view()).obstacle).to.include({ kind: 'waiting', reason: 'WaitingForGroup' })
    const leaving = view({ labels, deletionTimestamp: '2026-01-01T00:00:00Z' })
    expect(placeOf(group, child(), leaving).obstacle).to.include({ kind: 'waiting', reason: 'WaitingForGroup' })
  })

  it('is refused in a namespace of the other sort', () => {
    const refused = { kind: 'stalled', reason: 'ConfigurationInvalid' }
    expect(placeOf(group, child(), view({})).obstacle).to.include(refused)
    const boundary = { placement: 'boundary', kind: 'ResourceGroup' } as const
    expect(placeOf(boundary, child(), view({ labels })).obstacle).to.include(refused)
    const home = child({ namespace: `boundary-${BOUNDARY}` })
    expect(placeOf(boundary, home, view({})).place).to.deep.equal({ boundaryId: BOUNDARY })
  })

  it('is nothing for kinds that stand in no boundary', () => {
    expect(placeOf({ placement: 'cluster', kind: 'Boundary' }, child(), view())).to.deep.equal({
      place: {},
      obstacle: undefined,
    })
  })
})

describe('a wait during deletion', () => {
  const at = (minutes: number) => Date.UTC(2026, 0, 1, 0, minutes)
  const run = (outcome: Outcome, minutes: number) => withDeadline(outcome, '2026-01-01T00:00:00Z', 600_000, at(minutes))

  it('says until when, and comes again just then', () => {
    expect(run(waiting('TearingDown', 'Waiting for 2 claims.'), 4)).to.deep.equal(
      waiting('TearingDown', 'Waiting for 2 claims. Expected by 2026-01-01T00:10:00Z.', 360_000),
    )
  })

  it('is blocked after that, and still names what it waits for', () => {
    expect(run(waiting('TearingDown', 'Waiting for 2 claims.'), 10)).to.deep.equal(
      waiting('DeletionBlocked', 'Waiting for 2 claims. It was expected by 2026-01-01T00:10:00Z.'),
    )
  })

  it('comes earlier where the step asked for that, and leaves other outcomes alone', () => {
    expect(run(waiting('TearingDown', 'x', 1_000), 4)).to.include({ after: 1_000 })
    expect(run(stalled('EngineMissing', 'x'), 11)).to.deep.equal(stalled('EngineMissing', 'x'))
  })
})

describe('the content of a namespace that is being deleted', () => {
  it('is what the namespace controller says remains', () => {
    const conditions = [
      { type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: pods. has 2.' },
      { type: 'NamespaceFinalizersRemaining', status: 'False', message: 'none' },
    ]
    const terminating = { ...child(), status: { conditions } }
    expect(contentOf(terminating)).to.equal(' (Some resources are remaining: pods. has 2)')
    expect(contentOf(child())).to.equal('')
    expect(contentOf(undefined)).to.equal('')
  })
})
