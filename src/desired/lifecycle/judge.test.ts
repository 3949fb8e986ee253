import { expect } from 'chai'
import { fluxStatus } from '../../../test/worlds/fluxPlay.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import { helmReleaseOf, ociRepositoryOf } from './flux.ts'
import { type HelmRelease, judgeComponent, type ObservedComponentFacts } from './judge.ts'
import { observedWorkload } from './workloads.ts'

const NOW = '2026-01-01T00:10:00Z'
const SETTLE = 30_000
const URL = 'oci://charts.example.com/shop'

function component(
  spec: object = {},
  status?: object,
): ObservedComponentFacts['component'] & { metadata: { name: string } } {
  const whole = {
    ...{ title: 'Shop', kind: 'ThirdPartyChart', namespace: 'apps' },
    ...{ chart: { name: 'shop', url: URL }, workloads: [{ kind: 'Deployment', name: 'shop' }] },
    ...spec,
  }
  return { metadata: { name: 'shop' }, spec: PlatformComponent.spec.parse(whole), ...(status && { status }) } as never
}

const pods = (ready: number, wanted = 2, labels: Record<string, string> = {}) =>
  observedWorkload({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace: 'apps', generation: 1, labels },
    spec: { replicas: wanted, template: { spec: { containers: [{ image: 'example.com/shop:1.4.0' }] } } },
    status: { observedGeneration: 1, readyReplicas: ready, updatedReplicas: wanted },
  })

/** A HelmRelease with the status that Flux sets. */
function helm(of: ReturnType<typeof component>, more: { failure?: string; before?: object } = {}): HelmRelease {
  const source = ociRepositoryOf(of, { url: URL, isInsecure: false }, undefined)
  const release = { ...helmReleaseOf(of, []), status: more.before } as HelmRelease
  release.metadata.generation = 1
  return { ...release, status: fluxStatus(release, source, { failure: more.failure, now: NOW }) }
}

function judge(of: ReturnType<typeof component>, seen: Partial<ObservedComponentFacts> = {}) {
  return judgeComponent({
    component: of,
    helm: undefined,
    source: undefined,
    workloads: [],
    now: NOW,
    settleMs: SETTLE,
    ...seen,
  })
}

describe('judgeComponent', () => {
  const one = component({ version: '1.0.0' })
  const healthy = {
    rollout: {
      version: '1.0.0',
      state: 'Applying',
      isInstalled: true,
      since: NOW,
      healthySince: '2026-01-01T00:09:00Z',
    },
  }
  const upgraded = component({ version: '2.0.0' }, { isManaged: true, installedVersion: '1.0.0' })
  const former = helm(one).status ?? {}
  const cases: [
    sentence: string,
    judged: ReturnType<typeof judge>,
    state: string,
    installed: string | undefined,
    rollout: string | undefined,
  ][] = [
    ['returns NotInstalled without workloads', judge(component()), 'NotInstalled', undefined, undefined],
    [
      'returns Ready for a workload that Flux does not manage',
      judge(component(), { workloads: [pods(2)] }),
      'Ready',
      '1.4.0',
      undefined,
    ],
    [
      'reads the version from the label of the chart',
      judge(component(), { workloads: [pods(2, 2, { 'helm.sh/chart': 'shop-v3.1.0' })] }),
      ...(['Ready', 'v3.1.0', undefined] as const),
    ],
    [
      'returns the own version for the platform outside the cluster',
      judge(component(), { ownVersion: '4.2.0' }),
      ...(['Ready', '4.2.0', undefined] as const),
    ],
    [
      'reads the version of the platform from its workloads',
      judge(component(), { ownVersion: '4.2.0', workloads: [pods(2)] }),
      ...(['Ready', '1.4.0', undefined] as const),
    ],
    [
      'returns Degraded if some pods are not ready',
      judge(component(), { workloads: [pods(1)] }),
      'Degraded',
      '1.4.0',
      undefined,
    ],
    ['returns Failed if no pod is ready', judge(component(), { workloads: [pods(0)] }), 'Failed', '1.4.0', undefined],
    ['returns Installing before Flux has reconciled', judge(one), 'Installing', undefined, 'Applying'],
    [
      'returns Installing after Helm while no pod is ready',
      judge(one, { helm: helm(one), workloads: [pods(0)] }),
      'Installing',
      '1.0.0',
      'Applying',
    ],
    [
      'returns Installing after Helm without its workload',
      judge(one, { helm: helm(one) }),
      'Installing',
      '1.0.0',
      'Applying',
    ],
    [
      'returns Installing when the workload has just become ready',
      judge(one, { helm: helm(one), workloads: [pods(2)] }),
      'Installing',
      '1.0.0',
      'Applying',
    ],
    [
      'returns Ready when the workload has been ready for long enough',
      judge(component({ version: '1.0.0' }, healthy), { helm: helm(one), workloads: [pods(2)] }),
      ...(['Ready', '1.0.0', 'Ready'] as const),
    ],
    [
      'returns Failed after a failure of Helm',
      judge(one, { helm: helm(one, { failure: 'no such image' }) }),
      'Failed',
      undefined,
      'Failed',
    ],
    [
      'returns the former version during an upgrade',
      judge(upgraded, { helm: { ...helm(upgraded), status: former }, workloads: [pods(2)] }),
      ...(['Upgrading', '1.0.0', 'Applying'] as const),
    ],
    [
      'returns the former version after a failed upgrade',
      judge(upgraded, { helm: helm(upgraded, { failure: 'no', before: former }), workloads: [pods(2)] }),
      ...(['Failed', '1.0.0', 'Failed'] as const),
    ],
  ]
  for (const [sentence, judged, state, installed, rollout] of cases)
    it(sentence, () => {
      expect([judged.state, judged.installedVersion, judged.rollout?.state]).to.deep.equal([state, installed, rollout])
    })

  it('requeues after the settle time', () => {
    expect(judge(one, { helm: helm(one), workloads: [pods(2)] }).after).to.equal(SETTLE)
  })

  it('keeps the rollout Ready when the component degrades later', () => {
    const rollout = { version: '1.0.0', state: 'Ready', isInstalled: true, since: NOW }
    const judged = judge(component({ version: '1.0.0' }, { rollout }), { helm: helm(one), workloads: [pods(1)] })
    expect([judged.rollout?.state, judged.state]).to.deep.equal(['Ready', 'Degraded'])
  })

  it('keeps Applying until Flux has seen the retry', () => {
    const asked = component({ version: '1.0.0', requestedAt: '2026-01-01T00:09:00Z' })
    expect(judge(asked, { helm: helm(one, { failure: 'no' }) }).rollout?.state).to.equal('Applying')
    expect(judge(asked, { helm: helm(asked, { failure: 'no' }) }).rollout?.state).to.equal('Failed')
  })

  it('reports the reason of Helm without secrets', () => {
    const failure = 'Secret "shop" is invalid: password: "correct-horse"'
    expect(judge(one, { helm: helm(one, { failure }) }).rollout?.message)
      .to.contain('Helm: UpgradeFailed.')
      .and.not.to.contain('correct-horse')
  })
})
