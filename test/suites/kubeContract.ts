import { expect } from 'chai'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { configMap } from '../../src/kube/builtin.ts'
import { WatchCache } from '../../src/kube/cache.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError, type KubeError, type KubeErrorReason } from '../../src/kube/errors.ts'
import { PATIENCE } from '../make/until.ts'

/** `custom` is a custom resource of the namespace that has a status. */
type Subject = { client: KubeClient; namespace: string; custom: Resource }
type ConfigMap = KubeObject & { data?: Record<string, string> }

/** What every KubeClient does, the fake as the real one. `subject` gives a client and an empty namespace. */
export function kubeClientContract(subject: () => Subject): void {
  const make = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: subject().namespace },
    data,
  })
  const create = (name: string, data: Record<string, string> = {}) =>
    subject().client.create(configMap, make(name, data))
  const get = (name: string) => subject().client.get<ConfigMap>(configMap, { namespace: subject().namespace, name })

  it('creates an object with uid and resourceVersion', async () => {
    const { metadata, data } = await create('created', { a: '1' })
    expect(metadata.uid).to.be.a('string')
    expect(metadata.resourceVersion).to.match(/^[0-9]+$/)
    expect(data).to.deep.equal({ a: '1' })
    expect((await get('created')).metadata.uid).to.equal(metadata.uid)
  })

  it('throws AlreadyExists for a name in use', async () => {
    await create('taken')
    await expectReason('AlreadyExists', create('taken'))
  })

  it('throws NotFound with the name of the object', async () => {
    const error = await expectReason('NotFound', get('nowhere'))
    expect(error.message).to.contain('nowhere')
  })

  it('lists the objects of a namespace, also by label', async () => {
    const { client, namespace } = subject()
    const labelled = make('labelled')
    await client.create(configMap, { ...labelled, metadata: { ...labelled.metadata, labels: { pick: 'me' } } })
    await create('unlabelled')
    const all = await client.list(configMap, { namespace })
    expect(all.items.map((item) => item.metadata.name)).to.include.members(['labelled', 'unlabelled'])
    expect(all.items[0]?.kind).to.equal('ConfigMap')
    const picked = await client.list(configMap, { namespace, labelSelector: 'pick=me' })
    expect(picked.items.map((item) => item.metadata.name)).to.deep.equal(['labelled'])
  })

  it('updates an object, and throws Conflict for an older version', async () => {
    const first = await create('replaced', { a: '1' })
    const second = await subject().client.update(configMap, { ...first, data: { b: '2' } })
    expect(second.data).to.deep.equal({ b: '2' })
    await expectReason('Conflict', subject().client.update(configMap, { ...first, data: { c: '3' } }))
  })

  it('merges a patch, in which null removes a field', async () => {
    const { metadata } = await create('merged', { a: '1', b: '2' })
    const merged = await subject().client.mergePatch<ConfigMap>(configMap, metadata, { data: { a: null, c: '3' } })
    expect(merged.data).to.deep.equal({ b: '2', c: '3' })
  })

  it('throws Conflict for a patch with another resourceVersion or uid', async () => {
    const { metadata } = await create('guarded')
    const patch = { data: { x: '1' } }
    await expectReason('Conflict', subject().client.mergePatch(configMap, metadata, patch, { resourceVersion: '1' }))
    await expectReason('Conflict', subject().client.mergePatch(configMap, metadata, patch, { uid: 'other' }))
  })

  it('throws Conflict for a status patch with another uid, and stores nothing', async () => {
    const { client, namespace, custom } = subject()
    const { kind, group, version } = custom
    const made: KubeObject = { apiVersion: `${group}/${version}`, kind, metadata: { name: 'reborn', namespace } }
    const { metadata } = await client.create(custom, made)
    const options = { subresource: 'status', uid: '3bab1f9c-3854-4d12-b088-38e7d6732686' }
    const patch = { status: { phase: 'of a former life' } }
    await expectReason('Conflict', client.mergePatch(custom, metadata, patch, options))
    expect((await client.get(custom, metadata)).status).to.equal(undefined)
    const own = await client.mergePatch(custom, metadata, patch, { ...options, uid: metadata.uid })
    expect(own.status).to.deep.equal(patch.status)
  })

  it('creates by apply, writes nothing for the same apply, and removes fields that it no longer contains', async () => {
    const { client } = subject()
    const first = await client.apply(configMap, make('applied', { a: '1', b: '2' }), { force: true })
    const again = await client.apply(configMap, make('applied', { a: '1', b: '2' }), { force: true })
    expect(again.metadata.resourceVersion).to.equal(first.metadata.resourceVersion)
    const less = await client.apply(configMap, make('applied', { a: '1' }), { force: true })
    expect(less.data).to.deep.equal({ a: '1' })
  })

  it('keeps fields of other writers in an apply', async () => {
    const { client } = subject()
    const { metadata } = await client.apply(configMap, make('shared', { ours: '1' }), { force: true })
    await client.mergePatch(configMap, metadata, { data: { theirs: '1' } })
    const applied = await client.apply(configMap, make('shared', { ours: '2' }), { force: true })
    expect(applied.data).to.deep.equal({ ours: '2', theirs: '1' })
  })

  it('keeps a field of two managers until both have dropped it', async () => {
    const { client } = subject()
    const amend = (content: Record<string, string>) =>
      client.apply(configMap, make('amended', content), { force: true, fieldManager: 'amending' })
    await client.apply(configMap, make('amended', { both: '1', one: '1' }), { force: true })
    await amend({ both: '2', more: '2' })
    await client.apply(configMap, make('amended', { both: '2', one: '1' }), { force: true })
    expect((await amend({})).data).to.deep.equal({ both: '2', one: '1' })
  })

  it('creates by an apply with resourceVersion 1, and throws Conflict if the object exists', async () => {
    const { client } = subject()
    const first = (data: Record<string, string>) => {
      const intent = make('only-once', data)
      return { ...intent, metadata: { ...intent.metadata, resourceVersion: '1' } }
    }
    const made = await client.apply(configMap, first({ a: '1', b: '2' }), { force: true })
    expect(made.data).to.deep.equal({ a: '1', b: '2' })
    await expectReason('Conflict', client.apply(configMap, first({ a: '2' }), { force: true }))
    const later = await client.apply(configMap, make('only-once', { a: '3' }), { force: true })
    expect(later.data).to.deep.equal({ a: '3' })
  })

  it('throws Conflict for an apply with another uid', async () => {
    await create('reborn')
    const intent = make('reborn', { a: '1' })
    const other = { ...intent, metadata: { ...intent.metadata, uid: '3bab1f9c-3854-4d12-b088-38e7d6732686' } }
    await expectReason('Conflict', subject().client.apply(configMap, other, { force: true }))
  })

  it('deletes only with the right uid and resourceVersion', async () => {
    const { client } = subject()
    const { metadata } = await create('deleted')
    await expectReason('Conflict', client.remove(configMap, metadata, { uid: 'other' }))
    await expectReason('Conflict', client.remove(configMap, metadata, { resourceVersion: '1' }))
    expect(await client.remove(configMap, metadata, { uid: metadata.uid })).to.equal(undefined)
    await expectReason('NotFound', get('deleted'))
  })

  it('ignores the deletion of a missing object, unless mustExist is set', async () => {
    const { client, namespace } = subject()
    const ref = { namespace, name: 'never-was' }
    expect(await client.remove(configMap, ref)).to.equal(undefined)
    await expectReason('NotFound', client.remove(configMap, ref, { mustExist: true }))
  })

  it('keeps a deleted object until its last finalizer is removed', async () => {
    const { client } = subject()
    const intent = make('held')
    const held = await client.create(configMap, {
      ...intent,
      metadata: { ...intent.metadata, finalizers: ['example.com/hold'] },
    })
    const deleting = await client.remove(configMap, held.metadata)
    expect(deleting?.metadata.deletionTimestamp).to.be.a('string')
    await client.mergePatch(configMap, held.metadata, { metadata: { finalizers: null } })
    await expectReason('NotFound', get('held'))
  })

  it('stores nothing in a dry run', async () => {
    const { client } = subject()
    await client.create(configMap, make('rehearsed'), { dryRun: true })
    await expectReason('NotFound', get('rehearsed'))
  })

  it('fills a WatchCache and keeps it current', async () => {
    const { client, namespace } = subject()
    await create('watched', { n: '1' })
    const cache = new WatchCache<ConfigMap>({ client, resource: configMap, namespace })
    const seen: string[] = []
    cache.subscribe((event) => seen.push(`${event.type} ${event.object.metadata.name} ${event.object.data?.n ?? ''}`))
    cache.start()
    try {
      await cache.whenSynced()
      expect(cache.get(namespace, 'watched')?.data).to.deep.equal({ n: '1' })
      await client.mergePatch(configMap, { namespace, name: 'watched' }, { data: { n: '2' } })
      await until(() => cache.get(namespace, 'watched')?.data?.n === '2')
      await client.remove(configMap, { namespace, name: 'watched' })
      await until(() => cache.get(namespace, 'watched') === undefined)
      expect(seen.filter((line) => line.includes(' watched '))).to.deep.equal([
        'added watched 1',
        'modified watched 2',
        'removed watched 2',
      ])
    } finally {
      await cache.stop()
    }
  })
}

export async function expectReason(reason: KubeErrorReason, call: Promise<unknown>): Promise<KubeError> {
  try {
    await call
  } catch (error) {
    if (!isKubeError(error)) throw error
    expect(error.reason, error.message).to.equal(reason)
    return error
  }
  throw new Error(`Expected ${reason}, but the call succeeded.`)
}

/** Waits for a condition with a deadline, because a test that hangs does not say why. */
export async function until(condition: () => boolean, milliseconds = PATIENCE): Promise<void> {
  const deadline = performance.now() + milliseconds
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within ${milliseconds} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
