import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../../test/make/request.ts'
import { bearer } from '../../../../test/worlds/facadeServer.ts'
import { LAST, PLANS, ROLLOUTS, rolloutRoutes } from '../../../../test/worlds/rolloutRoutes.ts'
import { releaseName } from '../../../contracts/lifecycle.ts'
import type { DriftItem } from '../../../contracts/rollouts/drift.ts'
import { ComponentInstall, ComponentRelease } from '../../../crds/lifecycle.ts'
import { RolloutExecution, RolloutPlan } from '../../../crds/rollouts.ts'

describe('the routes of rollouts', () => {
  const world = rolloutRoutes()
  const { owner, reader, call, told, put, component, release, plan, rollout, paused, ask, stored } = world

  describe('a plan', () => {
    it('is created with items and batches', async () => {
      const { status, body } = await call('post', PLANS, { targetVersions: { cnpg: '1.1.0', facade: null } })
      expect(status).to.equal(201)
      expect(body).to.deep.include({ status: 'Validated', kind: 'Components', problems: [], executionId: null })
      expect(body.targetVersions).to.deep.equal({ cnpg: '1.1.0', facade: null })
      expect(body.items).to.deep.equal([
        {
          ...{ component: 'cnpg', kind: 'ThirdPartyChart', fromVersion: '1.0.0', toVersion: '1.1.0' },
          ...{ addedBy: 'Caller', isReversible: true, note: null },
        },
      ])
      expect(body.batches).to.deep.equal([
        { index: 0, kind: 'ThirdPartyChart', components: ['cnpg'], timeLimitMinutes: 30 },
      ])
    })

    it('has the kind Release with a PlatformStep, like its rollout', async () => {
      component('installer', { kind: 'PlatformStep' })
      release('installer')
      const { body } = await call('post', PLANS, { targetVersions: { installer: '1.1.0' } })
      expect([body.kind, (await call('get', `${PLANS}/${body.id}`)).body.kind]).to.deep.equal(['Release', 'Release'])
      expect((await call('post', ROLLOUTS, { planId: body.id })).body).to.include({ planId: body.id, kind: 'Release' })
    })

    it('is created as Unvalidated with problems', async () => {
      const { status, body } = await call('post', PLANS, { targetVersions: { cnpg: '9.9.9' } })
      expect([status, body.status]).to.deep.equal([201, 'Unvalidated'])
      expect(body.problems.map(({ code }: { code: string }) => code)).to.deep.equal(['ReleaseMissing'])
    })

    it('is rejected without targets and for an unknown component', async () => {
      expect(await told('post', PLANS, { targetVersions: {} })).to.equal('400 BAD_REQUEST')
      expect(await told('post', PLANS, { targetVersions: { cnpg: null } })).to.equal('400 BAD_REQUEST')
      expect(await told('post', PLANS, { targetVersions: { nothing: '1.0.0' } })).to.equal('404 ComponentNotFound')
      expect(await told('post', PLANS, { targetVersions: { cnpg: '1.1.0' } }, reader)).to.equal('403 FORBIDDEN')
    })

    it('is validated again unless it is Executed', async () => {
      const id = await plan({ cnpg: '9.9.9' })
      put(ComponentRelease, releaseName('cnpg', '9.9.9'), {
        ...{ component: 'cnpg', version: '9.9.9', digest: `sha256:${'1'.repeat(64)}` },
      })
      const { status, body } = await call('post', `${PLANS}/${id}/validate`)
      expect([status, body.status, body.problems]).to.deep.equal([200, 'Validated', []])
      expect(await told('post', `${PLANS}/${randomUUID()}/validate`)).to.equal('404 PlanNotFound')
      put(RolloutPlan, LAST, { targetVersions: { cnpg: '1.1.0' } }, { state: 'Executed' })
      expect(await told('post', `${PLANS}/${LAST}/validate`)).to.equal('409 PlanExecuted')
    })

    it('is not validated again if If-Match names another version', async () => {
      const id = await plan({ cnpg: '1.1.0' })
      const { status, body } = await call('post', `${PLANS}/${id}/validate`, undefined, owner, {
        'if-match': '"9-9-other"',
      })
      expect([status, body.code]).to.deep.equal([409, 'CONFLICT'])
    })
  })

  describe('the preflight checks', () => {
    it('run for the platform and for a plan', async () => {
      const { body } = await call('get', '/lifecycle/preflight', undefined, reader)
      expect([body.planId, body.checks.length]).to.deep.equal([null, 27])
      expect(body.checks.find(({ id }: { id: string }) => id === 'nodes-ready')).to.deep.include({
        ...{ result: 'Passed', isOverridable: true, remedy: null, category: 'Clusters' },
      })
      const id = await plan()
      const ofPlan = await call('get', `/lifecycle/preflight?planId=${id}`)
      expect([ofPlan.body.planId, ofPlan.body.canExecute, ofPlan.body.result]).to.deep.equal([id, true, 'Warnings'])
      expect(await told('get', `/lifecycle/preflight?planId=${randomUUID()}`)).to.equal('404 PlanNotFound')
      expect(await told('get', '/lifecycle/preflight?planId=x')).to.equal('400 BAD_REQUEST')
    })
  })

  describe('a rollout', () => {
    it('is created from a plan', async () => {
      const planId = await plan()
      const { status, body } = await call('post', ROLLOUTS, { planId })
      expect(status, JSON.stringify(body)).to.equal(202)
      expect(body).to.deep.include({
        planId,
        state: 'Executing',
        phase: 'Preflight',
        startedBy: owner,
        canCancel: true,
      })
      expect((await stored(body.id)).spec).to.deep.include({ plan: planId, startedBy: owner })
    })

    it('is refused in the order of the interface', async () => {
      const execute = async (planId: string, acknowledgedFailures: string[] = []) =>
        told('post', ROLLOUTS, { planId, acknowledgedFailures })
      expect(await execute(randomUUID(), ['nonsense'])).to.equal('400 BAD_REQUEST')
      expect(await execute(randomUUID())).to.equal('404 PlanNotFound')
      expect(await execute(await plan({ cnpg: '9.9.9' }))).to.equal('409 PlanNotValidated')
      put(RolloutPlan, LAST, { targetVersions: { cnpg: '1.1.0' } }, { state: 'Executed' })
      expect(await execute(LAST)).to.equal('409 PlanExecuted')
      const good = await plan()
      world.inspector.found = {
        ...world.inspector.found,
        nodes: { value: [{ name: 'n', isReady: false, isShortOfDisk: false, cpu: 8, memory: 2 ** 34 }] },
      }
      const failed = await call('post', ROLLOUTS, { planId: good })
      expect([failed.status, failed.code]).to.deep.equal([409, 'PreflightFailed'])
      expect(failed.body.checks.map(({ id }: { id: string }) => id)).to.deep.equal(['nodes-ready'])
      component('cnpg', { kind: 'ThirdPartyChart', required: [{ key: 'auth.password', title: 'Password' }] })
      const missing = await call('post', ROLLOUTS, { planId: good })
      expect([missing.status, missing.code, missing.body.keys]).to.deep.equal([
        409,
        'ValueMissing',
        ['cnpg.auth.password'],
      ])
      component('cnpg', { kind: 'ThirdPartyChart' })
      release('cnpg', { minimumOperatorVersion: '2.0.0' })
      expect(await execute(good)).to.equal('409 OperatorTooOld')
      release('cnpg')
      rollout({ state: 'Paused' })
      const busy = await call('post', ROLLOUTS, { planId: good })
      expect([busy.status, busy.code, busy.body.executionId]).to.deep.equal([409, 'RolloutBusy', LAST])
      rollout({ state: 'Succeeded' })
      for (const state of ['Queued', 'Running']) {
        put(ComponentInstall, LAST, { component: 'cnpg' }, { state })
        expect(await execute(good)).to.equal('409 RolloutBusy')
      }
      put(ComponentInstall, LAST, { component: 'cnpg' }, { state: 'Succeeded' })
      expect(await execute(good, ['nodes-ready'])).to.equal('202')
    })

    it('is created once by concurrent requests to three facades', async () => {
      const planId = await plan()
      const [second, third] = [await world.facade.another(), await world.facade.another()]
      const apps = [world.facade.app, second, third, world.facade.app, second, third]
      const answers = await Promise.all(
        apps.map((app) => request(app).post(ROLLOUTS).set('authorization', bearer(owner)).send({ planId })),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409, 409, 409, 409, 409])
      expect([...world.facade.client.stored(RolloutExecution.resource)]).to.have.length(1)
    })

    it('is cancelled until it is finished', async () => {
      rollout({ state: 'Executing' })
      expect(await ask('cancel')).to.equal('202')
      expect((await stored(LAST)).spec.requests.cancelAt).to.match(/Z$/)
      rollout({ state: 'Failed' })
      expect(await ask('cancel')).to.equal('409 AlreadyFinished')
      expect(await told('post', `${ROLLOUTS}/${randomUUID()}/cancel`)).to.equal('404 NOT_FOUND')
    })

    it('is resumed if it is paused and its cause is resolved', async () => {
      rollout({ state: 'Executing' })
      expect(await ask('resume')).to.equal('409 NotPaused')
      paused('PlatformDrift')
      expect(await ask('resume', {})).to.equal('409 PlatformDriftPending')
      paused('SnapshotFailed')
      expect(await ask('resume', { skipSnapshot: true })).to.equal('409 SnapshotRequired')
      world.inspector.found = { ...world.inspector.found, backups: { unknown: 'No Velero.' } }
      expect(await ask('resume')).to.equal('409 StillFailing')
      paused('SnapshotFailed', { canSkipSnapshot: true })
      expect(await ask('resume', { skipSnapshot: true, comment: 'It is a test' })).to.equal('202')
      expect((await stored(LAST)).spec.requests).to.deep.include({
        skipSnapshot: true,
        comment: 'It is a test',
        by: owner,
      })
      component('cnpg', { kind: 'ThirdPartyChart' }, { state: 'Degraded' })
      paused('HealthFailed', { component: 'cnpg' })
      expect(await ask('resume')).to.equal('409 StillFailing')
      component('cnpg', { kind: 'ThirdPartyChart' })
      expect(await ask('resume')).to.equal('202')
    })

    it('reverts acknowledged platform drift', async () => {
      const acknowledge = true
      for (const body of [undefined, {}])
        expect(await told('post', `${ROLLOUTS}/${randomUUID()}/revert-platform-drift`, body)).to.equal(
          '400 AcknowledgementRequired',
        )
      rollout({ state: 'Executing' })
      expect(await ask('revert-platform-drift', { acknowledge: false })).to.equal('400 AcknowledgementRequired')
      expect(await ask('revert-platform-drift', { acknowledge })).to.equal('409 NotPausedOnPlatformDrift')
      paused('PlatformDrift', { platformDrift: [CHANGE] })
      component('cnpg', { kind: 'ThirdPartyChart' }, { isManaged: false })
      expect(await ask('revert-platform-drift', { acknowledge })).to.equal('409 OperatorCapabilityMissing')
      component('cnpg', { kind: 'ThirdPartyChart' })
      const { code, body } = await call('post', `${ROLLOUTS}/${LAST}/revert-platform-drift`, {
        acknowledge,
        fields: [],
      })
      expect([code, body.platformDrift.length]).to.deep.equal(['PlatformDriftChanged', 1])
      const { component: of, step, kind, namespace, name, field } = CHANGE
      const fields = [{ component: of, step, kind, namespace, name, field }]
      expect(await ask('revert-platform-drift', { acknowledge, fields })).to.equal('200')
    })

    it('is rolled back once, by another rollout', async () => {
      rollout({ state: 'Paused', canRollback: true })
      expect(await ask('rollback')).to.equal('409 RolloutBusy')
      rollout({ state: 'Succeeded', canRollback: false })
      expect(await ask('rollback')).to.equal('409 NothingToRollBack')
      rollout({ state: 'Succeeded', canRollback: true })
      const { status, body } = await call('post', `${ROLLOUTS}/${LAST}/rollback`)
      expect([status, body.rollbackOf, body.kind]).to.deep.equal([202, LAST, 'Rollback'])
      expect((await call('get', `${ROLLOUTS}/${LAST}`)).body).to.deep.include({
        rolledBackBy: body.id,
        canRollback: false,
      })
      expect(await told('post', `${ROLLOUTS}/${LAST}/rollback`, undefined, reader)).to.equal('403 FORBIDDEN')
    })

    for (const [state, due] of [
      ['Failed', '202'],
      ['Cancelled', '202'],
      ['Succeeded', '409 NothingToRollBack'],
    ] as const)
      it(`${due === '202' ? 'can' : 'cannot'} be rolled back again after a rollback in state ${state}`, async () => {
        rollout({ state: 'Succeeded', canRollback: true })
        rollout({ state, canRollback: true }, { rollbackOf: LAST }, randomUUID())
        const { body } = await call('get', `${ROLLOUTS}/${LAST}`)
        expect([body.canRollback, body.rolledBackBy === null]).to.deep.equal([due === '202', due === '202'])
        expect(await ask('rollback')).to.equal(due)
      })
  })
})

const CHANGE: DriftItem = {
  ...{ component: 'cnpg', step: '', kind: 'Deployment', namespace: 'cnpg', name: 'cnpg', field: 'spec.replicas' },
  ...{ manager: 'kubectl-edit', message: 'Changed.', live: '3' },
  adoption: { configKey: 'cnpg.replicas', liveValue: '3', isSecret: false },
}
