// @alone: rolls out the platform's components, one rollout at a time, and kills the operator.
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { INSTALL_CONFIGURATION, releaseName } from '../../src/contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { VERSION } from '../../src/core/release.ts'
import { secretData } from '../../src/core/secretData.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ComponentRelease, PlatformComponent } from '../../src/crds/lifecycle.ts'
import { PlatformDriftScan, RolloutExecution } from '../../src/crds/rollouts.ts'
import { fluxName } from '../../src/desired/lifecycle/flux.ts'
import { clusterRole, clusterRoleBinding, deployment, secret } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import type { KubeError } from '../../src/kube/errors.ts'
import { FLUX_RESOURCES, helmRelease, ociRepository } from '../../src/kube/flux.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Rollout = {
  id: string
  planId: string
  state: string
  phase: string
  pauseReason: { code: string; platformDrift: { field: string; manager: string }[] } | null
  batches: { state: string; components: { name: string; state: string }[] }[]
  failure: { code: string; message: string } | null
  canRollback: boolean
  overrides: { kind: string; detail: string }[]
}
type Component = PlatformComponent & KubeObject
type FluxObject = KubeObject & { spec: { ref?: { tag?: string } }; status?: { lastHandledReconcileAt?: string } }

const SNAPSHOT = ['snapshot-possible']
const at = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

/** A CRD that accepts anything: only what is written to and read from Flux is simulated. */
const definition = ({ group, version, kind, plural }: Resource) => {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` } },
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  }
}

describe('rollouts of components', () => {
  let own: OwnPlatform
  /** What Helm says of a release at a version. */
  let helm: (component: string, version: string) => 'deployed' | 'failed' | 'pending' = () => 'deployed'

  before(async () => {
    const environment = { PLATFORM_HEALTH_SETTLE_SECONDS: '0', PLATFORM_RELEASE_FEED_MINUTES: '0' }
    own = await OwnPlatform.prepare({ environment })
    await installManifests(own.admin, FLUX_RESOURCES.map(definition))
    await own.startOperator()
    const required = [
      { key: 'replicas', title: 'Replicas', type: 'Integer', isSecret: false, description: '', default: '1' },
    ]
    await component('web', { required })
    await component('api', { dependsOn: [{ name: 'web' }] })
    await until('both run', async () => {
      await playFlux()
      const found = await Promise.all(
        ['web', 'api'].map((name) => own.admin.get<Component>(PlatformComponent.resource, at(name))),
      )
      return found.every(({ status }) => status?.state === 'Ready' && status.installedVersion === '1.0.0')
    })
  })
  after(() => own?.stop())
  beforeEach(() => {
    helm = () => 'deployed'
  })

  const make = (kind: AnyKind, name: string, spec: object) =>
    own.admin.create(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: at(name),
      spec,
    } as KubeObject)

  async function component(name: string, more: object): Promise<void> {
    const chart = { name, url: `oci://registry.test/charts/${name}` }
    await make(PlatformComponent, name, { title: name, kind: 'Module', chart, version: '1.0.0', ...more })
    for (const version of ['1.1.0', '1.2.0', '1.3.0', '1.4.0']) {
      const digest = `sha256:${'0'.repeat(64)}`
      await make(ComponentRelease, releaseName(name, version), { component: name, version, digest, isSigned: true })
    }
  }

  /** What helm-controller would do with its present input. */
  async function playFlux(): Promise<void> {
    for (const name of ['web', 'api']) {
      const ref = at(fluxName(name))
      const [release, source] = await Promise.all([
        own.admin.get<FluxObject>(helmRelease, ref).catch(() => undefined),
        own.admin.get<FluxObject>(ociRepository, ref).catch(() => undefined),
      ])
      const version = source?.spec.ref?.tag
      if (release === undefined || version === undefined || helm(name, version) === 'pending') continue
      const isDeployed = helm(name, version) === 'deployed'
      const { generation, annotations } = release.metadata
      const status = {
        observedGeneration: generation,
        lastAttemptedRevision: version,
        lastHandledReconcileAt: annotations?.['reconcile.fluxcd.io/requestedAt'],
        conditions: [
          { type: 'Ready', status: isDeployed ? 'True' : 'False', message: isDeployed ? '' : 'timed out' },
          ...(isDeployed ? [] : [{ type: 'Released', status: 'False' }]),
        ],
        ...(isDeployed && { history: [{ chartVersion: version, status: 'deployed' }] }),
      }
      if (JSON.stringify(status) !== JSON.stringify(release.status))
        await own.admin.mergePatch(helmRelease, ref, { status }, { subresource: 'status' })
    }
  }

  const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
    callOwn<Body & { code?: string }>(own, method, `/lifecycle${path}`, body)
  const planTo = async (version: string, ...names: string[]) => {
    const targetVersions = Object.fromEntries(names.map((name) => [name, version]))
    const { status, body } = await call<{ id: string; problems: object[] }>('POST', '/rollouts/plans', {
      targetVersions,
    })
    expect([status, body.problems], JSON.stringify(body)).to.deep.equal([201, []])
    return body.id
  }
  const execute = (planId: string, acknowledgedFailures: string[] = SNAPSHOT) =>
    call<Rollout & Record<string, unknown>>('POST', '/rollouts/executions', { planId, acknowledgedFailures })
  const begin = async (version: string, ...names: string[]) => {
    const { status, body } = await execute(await planTo(version, ...names))
    expect(status, JSON.stringify(body)).to.equal(202)
    return body.id
  }
  const reaches = (id: string, state: string) =>
    until(`the rollout is ${state}`, async () => {
      await playFlux()
      const { body } = await call<Rollout>('GET', `/rollouts/executions/${id}`)
      if (body.state === state) return body
      throw new Error(JSON.stringify([body.state, body.phase, body.pauseReason, body.failure, body.batches]))
    })
  const versionsWanted = async () =>
    Promise.all(
      ['web', 'api'].map(
        async (name) => (await own.admin.get<Component>(PlatformComponent.resource, at(name))).spec.version,
      ),
    )
  const ask = async (id: string, what: string, body?: object) => {
    const answer = await call('POST', `/rollouts/executions/${id}/${what}`, body)
    return `${answer.status} ${answer.body.code ?? ''}`.trim()
  }
  const byKubectl = (id: string, requests: object) =>
    own.admin.mergePatch(RolloutExecution.resource, at(id), { spec: { requests } }).then(
      () => 'taken',
      (error: KubeError) => error.denial?.message ?? error.message,
    )

  it('roll out modules in order, one rollout at a time, and survive the death of the operator', async () => {
    const planId = await planTo('1.1.0', 'web', 'api')
    const shown = await call('GET', `/rollouts/plans/${planId}`)
    expect([shown.body.status, shown.body.batches]).to.deep.equal([
      'Validated',
      ['web', 'api'].map((name, index) => ({ index, kind: 'Components', components: [name], timeLimitMinutes: 10 })),
    ])
    expect((await call('POST', `/rollouts/plans/${planId}/validate`)).body.status).to.equal('Validated')
    expect((await call<{ items: object[] }>('GET', '/rollouts/plans')).body.items).to.have.length(1)
    const checks = await call('GET', `/preflight?planId=${planId}`)
    expect([checks.body.result, checks.body.canExecute]).to.deep.equal(['Failed', false])
    const refused = await execute(planId, [])
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'PreflightFailed'])
    expect((refused.body.checks as { id: string }[]).map(({ id }) => id)).to.deep.equal(SNAPSHOT)
    helm = (name, version) => (version === '1.1.0' && name === 'web' ? 'pending' : 'deployed')
    const { body: rollout } = await execute(planId)
    const busy = await execute(await planTo('1.2.0', 'web'))
    expect([busy.status, busy.body.code, busy.body.executionId]).to.deep.equal([409, 'RolloutBusy', rollout.id])
    const second = randomUUID()
    await make(RolloutExecution, second, { plan: await planTo('1.3.0', 'web') })
    expect((await reaches(second, 'Failed')).failure?.message).to.match(/^RolloutBusy: /)
    await until(
      'the first component has the new version',
      async () => (await versionsWanted()).join() === '1.1.0,1.0.0',
    )
    await own.keepSeen()
    await own.endOperator('SIGKILL')
    helm = () => 'deployed'
    await own.startOperator()
    const { overrides, batches } = await reaches(rollout.id, 'Succeeded')
    expect(overrides.map(({ kind }) => kind)).to.deep.equal(['AcknowledgedFailure', 'SkipSnapshot'])
    expect(
      batches.map(({ components }) => components.map(({ name, state }) => `${name} ${state}`).join()),
    ).to.deep.equal(['web Ready', 'api Ready'])
    expect(await versionsWanted()).to.deep.equal(['1.1.0', '1.1.0'])
    await until('a scan came after', async () => {
      const { items } = await own.admin.list(PlatformDriftScan.resource, { namespace: SYSTEM_NAMESPACE })
      return items.some(({ metadata }) => metadata.name.startsWith(`rollout-${rollout.id.slice(0, 8)}`))
    })
    const { body: list } = await call<{ items: Rollout[] }>('GET', '/rollouts/executions?filter=state:eq:succeeded')
    expect(list.items.map(({ id }) => id)).to.deep.equal([rollout.id])
    const again = await execute(planId)
    expect([again.status, again.body.code]).to.deep.equal([409, 'PlanExecuted'])
  })

  it('pause when a component fails, and accept the same requests from REST and kubectl', async () => {
    helm = (_, version) => (version === '1.2.0' ? 'failed' : 'deployed')
    const id = await begin('1.2.0', 'web', 'api')
    expect((await reaches(id, 'Paused')).pauseReason?.code).to.equal('ComponentFailed')
    expect(await ask(id, 'rollback')).to.equal('409 RolloutBusy')
    expect(await ask(id, 'revert-platform-drift', { acknowledge: true })).to.equal('409 NotPausedOnPlatformDrift')
    expect(await byKubectl(id, { revertDriftAt: '2026-01-01T00:00:00Z' })).to.match(
      /not paused because of manual changes/,
    )
    expect(await byKubectl(id, { rollbackAt: '2026-01-01T00:00:00Z' })).to.match(/the rollout cannot be rolled back/)
    expect(await byKubectl(id, { resumeAt: '2026-01-01T00:00:00Z', skipSnapshot: true })).to.match(/without a snapshot/)
    helm = (name, version) => (name === 'api' && version === '1.2.0' ? 'failed' : 'deployed')
    expect(await byKubectl(id, { resumeAt: new Date().toISOString() })).to.equal('taken')
    await until('the second component has the new version', async () => {
      await playFlux()
      return (await versionsWanted()).join() === '1.2.0,1.2.0'
    })
    await reaches(id, 'Paused')
    expect(await ask(id, 'resume')).to.equal('202')
    await until('it has failed again and is paused', async () => {
      await playFlux()
      const { body } = await call<Rollout>('GET', `/rollouts/executions/${id}`)
      return body.state === 'Paused' && body.batches[1]?.components[0]?.state === 'Failed'
    })
    expect(await ask(id, 'cancel')).to.equal('202')
    const { canRollback } = await reaches(id, 'Cancelled')
    expect(canRollback).to.equal(true)
    expect(await ask(id, 'cancel')).to.equal('409 AlreadyFinished')
    expect(await byKubectl(id, { cancelAt: new Date().toISOString() })).to.match(/nothing to cancel/)
    expect(await ask(id, 'resume')).to.equal('409 NotPaused')
    helm = () => 'deployed'
    const { body: back } = await call<Rollout>('POST', `/rollouts/executions/${id}/rollback`)
    await reaches(back.id, 'Succeeded')
    expect(await versionsWanted()).to.deep.equal(['1.1.0', '1.1.0'])
  })

  it('detect, adopt and revert manual changes', async () => {
    const labels = {
      'helm.toolkit.fluxcd.io/name': fluxName('web'),
      'helm.toolkit.fluxcd.io/namespace': SYSTEM_NAMESPACE,
    }
    const annotations = { 'lifecycle.freehold.dev/config-keys': '{"spec.replicas":"replicas"}' }
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
    const rendered = {
      ...{
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'default', labels, annotations },
      },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
    }
    await own.admin.apply(deployment, rendered, { fieldManager: 'helm-controller' })
    const data = secretData({ 'web.replicas': '1' })
    await own.admin.create(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: at(INSTALL_CONFIGURATION),
      data,
    } as KubeObject)
    const here = { namespace: 'default', name: 'web' }
    await own.admin.mergePatch(deployment, here, { spec: { replicas: 3 } }, { fieldManager: 'kubectl-edit' })
    const { body: scan } = await until('a scan is taken', async () => {
      const answer = await call<{ id: string }>('POST', '/platform-drift/scan')
      return answer.status === 202 && answer
    })
    type Drift = {
      scan: { id: string; status: string }
      items: { field: string; live: unknown; manager: string; adoption: object }[]
    }
    const { items } = await until('it has finished', async () => {
      const { body } = await call<Drift>('GET', '/platform-drift')
      return body.scan.id === scan.id && body.scan.status === 'Finished' && body
    })
    expect(items.map(({ field, live, manager }) => [field, live, manager])).to.deep.equal([
      ['spec.replicas', 3, 'kubectl-edit'],
    ])
    const adoption = { scanId: scan.id, configKey: 'web.replicas', liveValue: '3', acknowledge: true }
    const adopted = await call('POST', '/platform-drift/adopt', adoption)
    expect(adopted.status, JSON.stringify(adopted.body)).to.equal(200)
    const kept = await own.admin.get<KubeObject & { data: Record<string, string> }>(secret, at(INSTALL_CONFIGURATION))
    expect(Buffer.from(kept.data['web.replicas'] ?? '', 'base64').toString()).to.equal('3')
    expect((await call('POST', '/platform-drift/adopt', adoption)).body.code).to.equal('ConfigChanged')

    const { body: rollout } = await execute(await planTo('1.4.0', 'web'), [...SNAPSHOT, 'platform-drift'])
    const { pauseReason } = await reaches(rollout.id, 'Paused')
    expect([pauseReason?.code, pauseReason?.platformDrift.map(({ field }) => field)]).to.deep.equal([
      'PlatformDrift',
      ['spec.replicas'],
    ])
    expect(await ask(rollout.id, 'resume')).to.equal('409 PlatformDriftPending')
    expect(await ask(rollout.id, 'revert-platform-drift', { acknowledge: true })).to.equal('200')
    const { overrides } = await reaches(rollout.id, 'Succeeded')
    expect(overrides.map(({ kind }) => kind)).to.include('DriftReverted')
  })

  it('update the projected ClusterRoles only with the rights that the caller has in the cluster', async () => {
    const name = 'freehold-project-reader'
    const role = await own.admin.get<KubeObject & { rules: object[] }>(clusterRole, { name })
    await own.admin.mergePatch(clusterRole, { name }, { rules: role.rules.slice(1) })
    const apply = (query: string) =>
      call<{ isApplied: boolean; added: object[] }>(
        'POST',
        `/preflight/projector-ceiling/apply?release=${VERSION}${query}`,
      )
    const seen = await apply('&dryRun=true')
    expect([seen.status, seen.body.isApplied, seen.body.added.length > 0]).to.deep.equal([200, false, true])
    expect((await apply('')).status).to.equal(403)
    await own.admin.create(clusterRoleBinding, {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'repairs' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `p:${own.platform.clientId}` }],
    } as KubeObject)
    const done = await until('the binding counts', async () => {
      const answer = await apply('')
      return answer.status === 200 ? answer : undefined
    })
    expect(done.body).to.deep.include({ isApplied: true, added: seen.body.added })
    expect((await apply('&dryRun=true')).body).to.deep.include({ isApplied: true, added: [], removed: [] })
  })
})
