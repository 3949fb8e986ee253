import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { DRIFT, LAST, rolloutRoutes } from '../../../../test/worlds/rolloutRoutes.ts'
import { INSTALL_CONFIGURATION } from '../../../contracts/lifecycle.ts'
import { type DriftItem, driftValueDigest } from '../../../contracts/rollouts/drift.ts'
import { SYSTEM_NAMESPACE } from '../../../core/names.ts'
import type { KubeObject } from '../../../core/object.ts'
import { PlatformDriftScan } from '../../../crds/rollouts.ts'
import { secret } from '../../../kube/builtin.ts'
import { kubeInstallConfiguration } from '../configuration.ts'

describe('the routes of platform drift', () => {
  const world = rolloutRoutes()
  const { reader, call, told, put, rollout } = world

  const finished = (items: DriftItem[], configVersion?: string) =>
    put(
      PlatformDriftScan,
      LAST,
      {},
      {
        ...{ state: 'Finished', startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:01:00Z' },
        ...{ scanned: 7, items, configVersion },
      },
    )
  const configuration = async (entries: Record<string, string>) => {
    const data = Object.fromEntries(
      Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    )
    const metadata = { name: INSTALL_CONFIGURATION, namespace: SYSTEM_NAMESPACE }
    world.facade.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
    return (await world.facade.client.get(secret, metadata)).metadata.resourceVersion
  }
  const adopt = (body: object = {}) =>
    told('post', `${DRIFT}/adopt`, {
      ...{ scanId: LAST, configKey: 'cnpg.replicas', liveValue: '3', acknowledge: true },
      ...body,
    })

  it('show the items of the last scan', async () => {
    const none = await call('get', DRIFT)
    expect([none.body.scan, none.body.items]).to.deep.equal([null, []])
    finished([CHANGE])
    const { body } = await call('get', DRIFT, undefined, reader)
    expect(body.scan).to.deep.include({ id: LAST, status: 'Finished', trigger: 'Manual', scanned: 7, message: null })
    expect(body.items).to.deep.equal([{ ...CHANGE, live: 3, expected: null, firstSeenAt: null }])
  })

  it('run one scan at a time, and none during a rollout', async () => {
    const { status, body } = await call('post', `${DRIFT}/scan`)
    expect([status, body.status, body.trigger]).to.deep.equal([202, 'Running', 'Manual'])
    const second = await call('post', `${DRIFT}/scan`)
    expect([second.code, second.body.scanId]).to.deep.equal(['ScanRunning', body.id])
    await world.facade.client.remove(PlatformDriftScan.resource, { namespace: SYSTEM_NAMESPACE, name: body.id })
    rollout({ state: 'Executing' })
    expect(await told('post', `${DRIFT}/scan`)).to.equal('409 RolloutBusy')
  })

  it('check an adoption in the order of the interface', async () => {
    expect(await adopt({ acknowledge: false })).to.equal('400 AcknowledgementRequired')
    expect(await told('post', `${DRIFT}/adopt`)).to.equal('400 AcknowledgementRequired')
    expect(await told('post', `${DRIFT}/adopt`, { acknowledge: true })).to.equal('409 ScanStale')
    expect(await adopt()).to.equal('409 ScanStale')
    finished([{ ...CHANGE, adoption: undefined }])
    expect(await adopt({ scanId: randomUUID() })).to.equal('409 ScanStale')
    expect(await adopt({ scanId: undefined })).to.equal('409 ScanStale')
    expect(await adopt({ liveValue: undefined })).to.equal('404 NotAdoptable')
    expect(await adopt({ configKey: undefined })).to.equal('404 NotAdoptable')
    finished([CHANGE])
    rollout({ state: 'Paused' })
    expect(await adopt()).to.equal('409 RolloutBusy')
    rollout({ state: 'Succeeded' })
    expect(await adopt({ liveValue: '4' })).to.equal('409 DriftChanged')
    expect(await adopt({ liveValue: undefined })).to.equal('409 DriftChanged')
    expect(await adopt()).to.equal('409 ConfigChanged')
    finished([CHANGE], await configuration({ other: 'x' }))
    expect(await adopt()).to.equal('409 ConfigChanged')
    finished([CHANGE], '1')
    await configuration({ 'cnpg.replicas': '1' })
    expect(await adopt()).to.equal('409 ConfigChanged')
    finished([CHANGE], await configuration({ 'cnpg.replicas': '1', other: 'x' }))
    expect(await adopt()).to.equal('200')
    expect((await kubeInstallConfiguration(world.facade.client).read())?.entries).to.deep.equal({
      'cnpg.replicas': '3',
      other: 'x',
    })
    expect(await adopt()).to.equal('409 ConfigChanged')
  })

  it('adopt a secret value by its digest without showing it', async () => {
    const digest = driftValueDigest('s3cret')
    const adoption = { configKey: 'cnpg.replicas', liveValue: digest, isSecret: true }
    finished([{ ...CHANGE, adoption }], await configuration({ 'cnpg.replicas': 'old' }))
    world.inspector.values.set(CHANGE.field, 'changed since')
    expect(await adopt({ liveValue: digest })).to.equal('409 DriftChanged')
    world.inspector.values.set(CHANGE.field, 's3cret')
    const { body } = await call('post', `${DRIFT}/adopt`, {
      scanId: LAST,
      ...adoption,
      isSecret: undefined,
      acknowledge: true,
    })
    expect(body).to.deep.equal({
      configKey: 'cnpg.replicas',
      adoptedValue: digest,
      component: 'cnpg',
      rolloutPlanId: null,
    })
    expect((await kubeInstallConfiguration(world.facade.client).read())?.entries['cnpg.replicas']).to.equal('s3cret')
  })
})

const CHANGE: DriftItem = {
  ...{ component: 'cnpg', step: '', kind: 'Deployment', namespace: 'cnpg', name: 'cnpg', field: 'spec.replicas' },
  ...{ manager: 'kubectl-edit', message: 'Changed.', live: '3' },
  adoption: { configKey: 'cnpg.replicas', liveValue: '3', isSecret: false },
}
