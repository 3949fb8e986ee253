import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { entryName } from '../../src/contracts/vaults/names.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE, sha256 } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VaultEntry } from '../../src/crds/vaults.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { TEST_CONFIG } from '../config.ts'
import type { PagedListResponse } from '../make/page.ts'
import { SeededRandom } from '../make/random.ts'
import { kubectl } from '../worlds/kubectl.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeCaller,
  makeGroupPlace,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

type Actor = { principalId: string | null; principalType: string; displayName: string }
type Entry = {
  id: string
  occurredAt: string
  action: string
  operation: string | null
  actor: Actor
  channel: string
  outcome: string
  statusCode: number | null
  changes: { path: string; from: unknown; to: unknown }[]
  metadata: Record<string, string>
  message: string | null
  correlationId: string | null
  remoteAddress: string | null
}

const CANARY = `planted-canary-${uniqueName('x')}`
const kinds = ['rest', 'kubectl', 'git'] as const

describe('activity of a resource', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let namespace: string
  let base: string
  let repeated = 0
  let callers: Record<(typeof kinds)[number], TestCaller>
  let clients: Record<'kubectl' | 'git', KubeClient>

  before(async () => {
    admin = await administrator()
    const place = await makeGroupPlace()
    boundaryId = place.boundaryId
    group = place.group
    namespace = place.namespace
    base = place.resources('containerinstances')
    const caller = () => makeCaller({ Contributor: `/boundaries/${boundaryId}` })
    callers = { rest: await caller(), kubectl: await caller(), git: await caller() }
    clients = {
      kubectl: await clientWithToken(callers.kubectl.token),
      git: await clientWithToken(callers.git.token),
    }
    // The API server asks for the issuer's keys every ten seconds until it is there.
    await until('the API server takes tokens', async () => (await clients.git.request({ path: '/api' })).status === 200)
  })
  after(async () => {
    await Promise.all([admin, clients.kubectl, clients.git].map((client) => client.close()))
  })

  const entriesOf = (name: string) => itemsOf<Entry>(`${base}/${name}/activity?sort=occurredAt`)
  const make = async () => {
    const name = uniqueName('told')
    const env = [{ name: 'PASSWORD', value: `${CANARY}-env` }]
    const components = [{ name: 'web', image: 'docker.io/library/nginx:1.29', env }]
    await expectCall(201, 'POST', `${base}/${name}`, { components }, callers.rest)
    await clients.kubectl.mergePatch(ContainerInstance.resource, { namespace, name }, { spec: { running: false } })
    return name
  }
  const object = (name: string, spec: object) => ({
    apiVersion: ContainerInstance.apiVersion,
    kind: ContainerInstance.kind,
    metadata: { name, namespace },
    spec,
  })

  /** One change, made in one of three ways. */
  async function change(how: (typeof kinds)[number], name: string, step: number): Promise<void> {
    const spec = { tags: { step: String(step) }, parameters: { key: `${CANARY}-${step}` } }
    if (how === 'rest') {
      // On a busy machine the API server may be late; repeating the change changes nothing more.
      await until('the change is taken', async () => {
        const asked = { ...callers.rest, isPatient: false }
        const { status, text } = await call('PATCH', `${base}/${name}`, spec, asked)
        if (status === 503) repeated += 1
        else if (status !== 200) throw new Error(text)
        return status === 200
      })
    }
    if (how === 'kubectl') await clients.kubectl.mergePatch(ContainerInstance.resource, { namespace, name }, { spec })
    if (how !== 'git') return
    const options = { fieldManager: 'kustomize-controller', force: true }
    await clients.git.apply(ContainerInstance.resource, object(name, spec), options)
  }

  const stepsIn = (entries: Awaited<ReturnType<typeof entriesOf>>) =>
    entries.flatMap(({ changes, actor, channel }) => {
      const change = changes.find(({ path }) => path === '/tags/step')
      return change === undefined ? [] : [`${change.to} ${channel} ${actor.principalId}`]
    })

  it('records each of 500 changes by REST, kubectl and a Git tool once, in order, with its author', async () => {
    const random = new SeededRandom(TEST_CONFIG.seed)
    const names = await Promise.all(Array.from({ length: 10 }, make))
    const steps = 50
    const made = await Promise.all(
      names.map(async (name) => {
        const ways: (typeof kinds)[number][] = []
        for (let step = 0; step < steps; step += 1) {
          const how = random.pick(kinds)
          await change(how, name, step)
          ways.push(how)
        }
        return ways
      }),
    )
    for (const [index, name] of names.entries()) {
      const entries = await until(`all changes of ${name} are recorded`, async () => {
        const found = await entriesOf(name)
        // At least so many: a repeated change is recorded too.
        const recorded = new Set(stepsIn(found).map((step) => step.split(' ')[0]))
        const missing = made[index]?.flatMap((how, step) => (recorded.has(String(step)) ? [] : [`${step} by ${how}`]))
        if (recorded.size < steps) throw new Error(`not recorded: ${missing}; repeated requests: ${repeated}`)
        return found
      })
      const stepsTold = stepsIn(entries)
      const due = made[index]?.map(
        (how, step) => `${step} ${how === 'rest' ? 'Rest' : 'Kubernetes'} ${callers[how].principalId}`,
      )
      expect(stepsTold).to.deep.equal(due)
      // The creation, and the patch that stopped it.
      const done = entries.filter(({ outcome }) => outcome === 'Succeeded')
      if (repeated === 0) expect(done).to.have.length(steps + 2)
      expect(JSON.stringify(entries)).to.not.include(CANARY)
      expect(entries[0]).to.deep.include({ channel: 'Rest', action: 'containerinstance/write', statusCode: 201 })
      const bySync = entries.find(({ actor }) => actor.principalId === callers.git.principalId)
      expect(bySync?.metadata.fieldManager).to.equal('kustomize-controller')
    }
    const { items } = await admin.list(secret, { namespace: SYSTEM_NAMESPACE, labelSelector: 'freehold.dev/activity' })
    const stored = items.map((item) => Buffer.from((item as { data?: { log?: string } }).data?.log ?? '', 'base64'))
    expect(stored.length).to.be.greaterThan(3)
    for (const bytes of stored) expect(gunzipSync(bytes).toString()).to.not.include(CANARY)
  })

  it('writes nothing when it is read', async () => {
    const name = await make()
    await until('both are recorded', async () => (await entriesOf(name)).length === 2)
    const path = `${boundaryId}/${group}/containerinstances/${name}`
    const ref = { namespace: SYSTEM_NAMESPACE, name: `activity-${sha256(path).slice(0, 40)}` }
    const version = async () => (await admin.get(secret, ref)).metadata.resourceVersion
    const before = await version()
    for (let count = 0; count < 20; count += 1) await entriesOf(name)
    await expectCall(200, 'GET', `${base}/${name}`)
    expect(await version()).to.equal(before)
  })

  it('records refusals with their status, and no apply that changes nothing', async () => {
    const name = await make()
    const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    const readerClient = await clientWithToken(reader.token)
    try {
      await expectCall(403, 'DELETE', `${base}/${name}`, undefined, reader)
      await readerClient.remove(ContainerInstance.resource, { namespace, name }).catch(() => undefined)
      const spec = { computePlan: 'no-such-plan' }
      await expectCall(422, 'PATCH', `${base}/${name}`, spec, callers.rest)
      const same = object(name, { running: false })
      for (let count = 0; count < 3; count += 1)
        await clients.git.apply(ContainerInstance.resource, same, { fieldManager: 'sync', force: true })
      await change('kubectl', name, 1)
      const entries = await until('the last change is recorded', async () => {
        const found = await entriesOf(name)
        const isChanged = found.some(({ changes }) => changes.some(({ path }) => path === '/tags/step'))
        return isChanged && found.filter(({ outcome }) => outcome === 'Refused').length >= 3 && found
      })
      const refused = entries.filter(({ outcome }) => outcome === 'Refused')
      const words = refused.map(({ channel, statusCode, actor }) => `${channel} ${statusCode} ${actor.principalId}`)
      expect(words).to.deep.equal([
        `Rest 403 ${reader.principalId}`,
        `Kubernetes 403 ${reader.principalId}`,
        `Rest 422 ${callers.rest.principalId}`,
      ])
      expect(entries.filter(({ metadata }) => metadata.fieldManager === 'sync')).to.have.length(0)
      expect(refused[0]?.correlationId).to.be.a('string')
      expect(refused[0]?.remoteAddress).to.be.a('string')
    } finally {
      await readerClient.close()
    }
  })

  it('records each change of a vault secret, and no apply that changes nothing', async () => {
    const vault = uniqueName('safe')
    const vaults = base.replace(/containerinstances$/, 'secretvaults')
    await expectCall(201, 'POST', `${vaults}/${vault}`, {})
    const { apiVersion, kind, resource } = VaultEntry
    const metadata = { name: entryName(vault, 'Key'), namespace }
    const apply = (contentType: string) => {
      const object = { apiVersion, kind, metadata, spec: { vaultName: vault, secretName: 'Key', contentType } }
      return admin.apply(resource, object as KubeObject, { fieldManager: 'sync', force: true })
    }
    await apply('text/plain')
    for (let count = 0; count < 3; count += 1) await apply('text/plain')
    await apply('text/html')
    const entries = await until('the last change is recorded', async () => {
      const found = await itemsOf<Entry>(`${vaults}/${vault}/activity?sort=occurredAt`)
      const own = found.filter(({ metadata: { fieldManager } }) => fieldManager === 'sync')
      return own.length >= 2 && own
    })
    expect(entries).to.have.length(2)
  })

  it('records a refused request once, even if its body has up to 2,000,000 characters', async () => {
    const name = await make()
    const long = (character: string, count = 200_000) => character.repeat(count)
    const patches: object[] = [
      { spec: { computePlan: long('x') } },
      { spec: { clusterId: long('<') } },
      { spec: { tags: { [long('k')]: 'v' } } },
      { metadata: { labels: { long: long('"') } } },
      { metadata: { labels: { long: long('x', 2_000_000) } } },
      { metadata: { annotations: { 'freehold.dev/actor': long('a') } } },
    ]
    // Evaluating so long a text takes a busy API server longer than its client waits; its answer may be recorded as
    // well.
    let unanswered = 0
    for (const patch of patches) {
      const what = Object.keys(patch).join()
      await until(`the API server answers about ${what}`, async () => {
        const write = clients.kubectl.mergePatch(ContainerInstance.resource, { namespace, name }, patch)
        const status = await write.then(
          () => 200,
          (error: unknown) => (isKubeError(error) ? error.status : String(error)),
        )
        if (status === 0) unanswered += 1
        else expect(status, what).to.be.within(400, 499)
        return status !== 0
      })
    }
    await change('kubectl', name, 1)
    // The API server sends batches of events concurrently, and a long one takes longer.
    const refused = await until('the refusals and the last change are recorded', async () => {
      const found = await entriesOf(name)
      const refusals = found.filter(({ outcome }) => outcome === 'Refused')
      return stepsIn(found).length === 1 && refusals.length >= patches.length && refusals
    })
    const codes = refused.map(({ statusCode }) => statusCode)
    expect(codes).to.have.length.within(patches.length, patches.length + unanswered)
    for (const { channel, actor, operation } of refused)
      expect([channel, actor.principalId, operation]).to.deep.equal([
        'Kubernetes',
        callers.kubectl.principalId,
        'patch',
      ])
  })

  it('names users that only Kubernetes knows, outlives the resource, and stores reports', async () => {
    const name = await make()
    const input = object(name, { tags: { by: 'kubectl' } })
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input })
    const reported = {
      action: 'deploy.started',
      resourceType: 'containerinstances',
      resourceName: name,
      resourceGroup: group,
    }
    const more = { outcome: 'Started', message: `password=${CANARY}`, metadata: { commit: 'abc', token: CANARY } }
    const path = `/boundaries/${boundaryId}/activity`
    const { body: id } = await expectCall<string>(200, 'POST', path, { ...reported, ...more }, callers.rest)
    await expectCall(400, 'POST', path, { ...reported, occurredAt: new Date(Date.now() + 400_000).toISOString() })
    await expectCall(404, 'POST', path, { ...reported, resourceName: 'nothing-here' })
    await kubectl(['-n', namespace, 'delete', 'containerinstance', name])
    const entries = await until('the deletion is recorded', async () => {
      const found = await entriesOf(name)
      return found.some(({ action }) => action === 'containerinstance/delete') && found
    })
    const byAdministrator = entries.filter(({ actor }) => actor.displayName === 'freehold:admin')
    expect(byAdministrator.map(({ operation }) => operation)).to.deep.equal(['patch', 'delete'])
    expect(byAdministrator[0]?.actor).to.deep.include({ principalId: null, principalType: 'Kubernetes' })
    expect(entries.find((entry) => entry.id === id)).to.deep.include({
      channel: 'Reported',
      outcome: 'Started',
      message: 'password=***',
      metadata: { commit: 'abc', token: '***' },
    })
    expect(JSON.stringify(entries)).to.not.include(CANARY)
  })

  it('returns the entries of a resource to its readers, also filtered by channel', async () => {
    const name = await make()
    const stranger = await makeCaller()
    await expectCall(403, 'GET', `${base}/${name}/activity`, undefined, stranger)
    await expectCall(401, 'GET', `${base}/${name}/activity`, undefined, { token: null })
    await expectCall(404, 'GET', `${base}/nothing-here/activity`)
    await expectCall(400, 'GET', `${base}/${name}/activity?filter=message:eq:x`)
    const { body } = await expectCall<{ sorts: string[]; defaultSort: string }>(
      200,
      'GET',
      `${base}/${name}/activity/config`,
    )
    expect(body.defaultSort).to.equal('-occurredAt')
    await until('both are recorded', async () => (await entriesOf(name)).length === 2)
    const filtered = await call<PagedListResponse<Entry>>(
      'GET',
      `${base}/${name}/activity?filter=channel:eq:Kubernetes`,
    )
    expect(filtered.body.items.map(({ actor }) => actor.principalId)).to.deep.equal([callers.kubectl.principalId])
  })

  it('returns the entries of a boundary, except those of resources that the caller may not read', async () => {
    const [shown, hidden] = [await make(), await make()]
    const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}/resourcegroups/${group}` })
    const { principalId } = reader
    const denied = { principalId, actions: ['kernel/activity/read'], scope: `${base}/${hidden}` }
    await expectCall(201, 'POST', `/boundaries/${boundaryId}/providers/authorization/denyAssignments`, denied)
    const path = `/boundaries/${boundaryId}/activity`
    const namesFor = async (options?: TestCaller) => {
      const query = `?filter=resourceName:in:${shown},${hidden}&pageSize=500`
      type Told = PagedListResponse<{ resourceName: string }>
      const { body } = await expectCall<Told>(200, 'GET', path + query, undefined, options)
      return new Set(body.items.map(({ resourceName }) => resourceName))
    }
    await until('both are recorded', async () => (await namesFor()).size === 2)
    expect(await namesFor(reader)).to.deep.equal(new Set([shown]))
    await expectCall(404, 'GET', path, undefined, await makeCaller())
    const { body } = await expectCall<{ defaultSort: string }>(200, 'GET', `${path}/config`, undefined, reader)
    expect(body.defaultSort).to.equal('-occurredAt')
  })
  it('shows the Owner of a boundary who set the quota of a deleted group and who deleted it', async () => {
    const owner = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    const [ended, path] = [uniqueName('ended'), `/boundaries/${boundaryId}`]
    await expectCall(201, 'POST', `${path}/resourcegroups/${ended}`, {}, callers.rest)
    const ref = { namespace: boundaryNamespace(boundaryId), name: ended }
    await admin.mergePatch(ResourceGroup.resource, ref, { spec: { quota: { cpu: '4' } } })
    const { status } = await call('DELETE', `${path}/resourcegroups/${ended}`, undefined, owner)
    expect(status).to.be.oneOf([202, 204])
    const isGone = async () => (await call('GET', `${path}/resourcegroups/${ended}`)).status === 404
    await until('the group is deleted', isGone)
    const of = `${path}/activity?sort=occurredAt&filter=resourceGroup:eq:${ended}`
    const entries = async () =>
      (await expectCall<PagedListResponse<Entry>>(200, 'GET', of, undefined, owner)).body.items
    const of3 = await until('three entries are recorded', async () => {
      const all = (await entries()).filter(({ channel }) => channel !== 'Platform')
      return all.length >= 3 && all
    })
    expect(of3.map(({ action, actor }) => [action, actor.principalId])).to.deep.equal([
      ['resourcegroups/write', callers.rest.principalId],
      ['resourcegroups/write', null],
      ['resourcegroups/delete', owner.principalId],
    ])
    expect(of3[1]?.changes).to.deep.equal([{ path: '/quota/cpu', from: null, to: '4' }])
  })
})
