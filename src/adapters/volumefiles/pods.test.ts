import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import type { FileRequest } from '../../contracts/files.ts'
import type { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import type { Exec } from '../../kube/exec.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { serve } from './agent/serve.ts'
import { buildFilesJob, filesPodName, JOBS, mountedFolders, PODS } from './filesPod.ts'
import { END_FRAME, encodeFrame } from './frames.ts'
import { type FilesCluster, podVolumeFiles } from './pods.ts'
import type { FilesLocation } from './port.ts'
import { decodeFileAnswer, encodeFileRequest } from './session.ts'

const IMAGE = 'freehold:1'
const PLACE: FilesLocation = {
  namespace: 'n',
  owner: { apiVersion: 'v1', kind: 'Shop', name: 'shop', uid: '1' },
  volumes: [
    { path: '/data', claim: 'one' },
    { path: '/more', claim: 'one', subPath: 'sub', readOnly: true },
  ],
  identity: { user: 1000, fsGroup: 2000 },
  node: 'node-1',
}

describe('buildFilesJob', () => {
  const { spec } = buildFilesJob(PLACE, IMAGE) as unknown as {
    spec: { template: { metadata: { labels: object }; spec: Record<string, unknown> } }
  }
  const { spec: made, metadata } = spec.template

  it('mounts each claim once, where mountedFolders expects it', () => {
    expect(made.volumes).to.deep.equal([{ name: 'claim-0', persistentVolumeClaim: { claimName: 'one' } }])
    const [container] = made.containers as { volumeMounts: object[] }[]
    expect(container?.volumeMounts).to.deep.equal([
      { name: 'claim-0', mountPath: '/volumes/0' },
      { name: 'claim-0', mountPath: '/volumes/1', subPath: 'sub', readOnly: true },
    ])
    expect(mountedFolders(PLACE)).to.deep.equal([
      { path: '/data', folder: '/volumes/0' },
      { path: '/more', folder: '/volumes/1' },
    ])
  })

  it("runs as the container's user, without a token, on the node of the volume", () => {
    expect(made.securityContext).to.deep.include({
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 2000,
      runAsNonRoot: true,
    })
    expect(made.automountServiceAccountToken).to.equal(false)
    expect(JSON.stringify(made.affinity)).to.include('node-1')
  })

  it('has no label of its resource, which a Service would select', () =>
    expect(Object.keys(metadata.labels).sort()).to.deep.equal(['app.kubernetes.io/managed-by', 'freehold.dev/files']))

  it('has another name for another image, user, volume, node or owner', () => {
    const others: FilesLocation[] = [
      { ...PLACE, node: 'node-2' },
      { ...PLACE, identity: { user: 1 } },
      { ...PLACE, volumes: PLACE.volumes.slice(1) },
      { ...PLACE, owner: { ...PLACE.owner, uid: '2' } },
    ]
    const names = [
      filesPodName(PLACE, IMAGE),
      filesPodName(PLACE, 'x'),
      ...others.map((one) => filesPodName(one, IMAGE)),
    ]
    expect(new Set(names).size).to.equal(names.length)
  })
})

describe('podVolumeFiles', () => {
  let folder: string
  let client: FakeKubeClient
  let stop: AbortController
  /** Pods whose processes accept connections. */
  let reachable: Set<string>
  let open: number
  let play: NodeJS.Timeout
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'files-'))
    for (const name of ['0', '1']) mkdirSync(join(folder, 'volumes', name), { recursive: true })
    client = new FakeKubeClient()
    stop = new AbortController()
    reachable = new Set()
    open = 0
    let made = 0
    // Plays the Job controller and the node.
    play = setInterval(() => {
      for (const { metadata } of [...client.stored(JOBS)]) {
        if ([...client.stored(PODS)].some((one) => one.metadata.ownerReferences?.[0]?.uid === metadata.uid)) continue
        made += 1
        const name = `${metadata.name}-${made}`
        reachable.add(name)
        client.seed(PODS, {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name,
            namespace: 'n',
            labels: { 'batch.kubernetes.io/job-name': metadata.name },
            ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: metadata.name, uid: metadata.uid ?? '' }],
          },
          status: { containerStatuses: [{ ready: true }] },
        } as KubeObject)
      }
    }, 5)
  })
  afterEach(() => {
    clearInterval(play)
    stop.abort()
    rmSync(folder, { recursive: true, force: true })
  })

  const exec: Exec = async ({ pod }) => {
    if (!reachable.has(pod)) throw new Error('gone')
    const [stdin, output] = [new PassThrough(), new PassThrough()]
    // Like a socket: it ends when the process has ended, whether or not it is read.
    const stdout = new Readable({ read: () => void output.resume() })
    open += 1
    stdout.on('error', () => {})
    stdout.once('close', () => {
      open -= 1
    })
    output.on('data', (chunk) => stdout.push(chunk) || output.pause())
    output.on('end', () => setTimeout(() => stdout.push(null), 20))
    serve(stdin, output, folder).catch((error: Error) => stdout.destroy(error))
    return {
      stdout,
      write: async (bytes) => void stdin.write(bytes),
      end: () => void stdin.end(),
    }
  }
  const nowhere = () => Promise.reject(new Error('Nothing is to be asked here.'))
  const nobody: FilesCluster = {
    client: { get: nowhere, list: nowhere, create: nowhere, remove: nowhere },
    exec: nowhere,
  }
  const files = (image = IMAGE) =>
    podVolumeFiles({ client, exec, image: async () => image, isSimulated: false, other: () => nobody })
  const ask = (from: ReturnType<typeof files>, request: FileRequest, body?: AsyncIterable<Uint8Array>) =>
    from.ask(PLACE, request, { signal: stop.signal, body })
  const list: FileRequest = { op: 'list', path: '/data' }
  const upload: FileRequest = { op: 'upload', path: '/data', name: 'a', overwrite: true }
  async function* body(...texts: string[]) {
    for (const one of texts) yield Buffer.from(one)
  }

  it('creates one pod on the first request and uses it again', async () => {
    const from = files()
    const { answer } = await ask(from, upload, body('one', 'two'))
    expect(answer).to.include({ isNew: true })
    const { bytes } = await ask(from, { op: 'download', path: '/data/a' })
    expect((await buffer(bytes)).toString()).to.equal('onetwo')
    expect([...client.stored(PODS)]).to.have.length(1)
  })

  it('creates another pod when the first is deleted', async () => {
    const from = files()
    ;(await ask(from, list)).bytes.destroy()
    reachable.clear()
    for (const { metadata } of [...client.stored(JOBS), ...client.stored(PODS)])
      await client.remove(metadata.labels?.['batch.kubernetes.io/job-name'] === undefined ? JOBS : PODS, metadata)
    const { answer, bytes } = await ask(from, list)
    expect(answer).to.have.property('entries')
    bytes.destroy()
  })

  it('does not use a pod that is being deleted', async () => {
    client.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'a-former-one',
        namespace: 'n',
        labels: { 'batch.kubernetes.io/job-name': filesPodName(PLACE, IMAGE) },
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
      status: { containerStatuses: [{ ready: true }] },
    } as KubeObject)
    const { answer, bytes } = await ask(files(), list)
    expect(answer).to.have.property('entries')
    bytes.destroy()
  })

  it('frees the connection of a request that is answered or aborted', async () => {
    const from = files()
    for (let count = 0; count < 12; count += 1) await ask(from, list)
    await ask(from, upload, body('one'))
    for (let count = 0; count < 12; count += 1) (await ask(from, { op: 'download', path: '/data/a' })).bytes.destroy()
    await until('every process has ended', () => open === 0)
  })

  it('runs four requests at a time and queues the others', async () => {
    const from = files()
    await ask(from, upload, body('x'.repeat(300_000))).then(({ bytes }) => bytes.destroy())
    await until('the first has ended', () => open === 0)
    const begun = Array.from({ length: 6 }, () => ask(from, { op: 'download', path: '/data/a' }))
    await until('four are answered', () => open === 4)
    for (const one of begun) await buffer((await one).bytes)
    await until('all have ended', () => open === 0)
  })

  for (const [title, answers] of [
    ['sends malformed frames', ['nonsense', '{"half":']],
    ['does not answer', []],
  ] as const) {
    it(`reports SERVICE_UNAVAILABLE and closes the connection if the agent ${title}`, async () => {
      let ended = 0
      const broken: Exec = async () => {
        const stdout = new PassThrough()
        stdout.on('error', () => {})
        stdout.once('close', () => {
          ended += 1
        })
        for (const text of answers) for (const piece of encodeFrame(Buffer.from(text))) stdout.write(piece)
        return { stdout, write: async () => {}, end: () => {} }
      }
      const from = podVolumeFiles({
        ...{
          client,
          exec: broken,
          image: async () => IMAGE,
          isSimulated: false,
          other: () => nobody,
          answerWithin: 20,
        },
      })
      // More than the number of slots.
      for (let count = 1; count <= 5; count += 1) {
        const error = (await ask(from, list).catch((caught: unknown) => caught)) as PlatformError
        expect(error.code, String(error)).to.equal('SERVICE_UNAVAILABLE')
        await until('it has ended', () => ended === count)
      }
    })
  }

  it('uses the cluster of the volumes, and sets no owner there', async () => {
    const from = podVolumeFiles({
      ...nobody,
      image: async () => IMAGE,
      isSimulated: true,
      other: (clusterId) => (clusterId === 'far' ? { client, exec } : nobody),
    })
    const { bytes } = await from.ask({ ...PLACE, clusterId: 'far' }, list, { signal: stop.signal })
    bytes.destroy()
    const [made] = client.stored(JOBS)
    expect(made?.metadata.ownerReferences).to.equal(undefined)
  })

  it('reports FEATURE_UNSUPPORTED or INSTANCE_STOPPED if pods are played', async () => {
    const played = podVolumeFiles({ ...nobody, image: async () => IMAGE, isSimulated: true, other: () => nobody })
    const refusal = async (isStopped: boolean) => {
      const answer = played.ask({ ...PLACE, isStopped }, list, { signal: stop.signal })
      const { code, extras } = (await answer.catch((caught: unknown) => caught)) as PlatformError
      return [code, extras]
    }
    expect(await refusal(false)).to.deep.equal(['FEATURE_UNSUPPORTED', { feature: 'files' }])
    expect(await refusal(true)).to.deep.equal(['INSTANCE_STOPPED', {}])
  })
})

describe('decodeFileAnswer and encodeFileRequest', () => {
  it('reject an answer that is cut off', async () => {
    async function* nothing(): AsyncGenerator<Uint8Array> {
      yield encodeFrame(Buffer.from('{"removed":true}'))[0] ?? Buffer.alloc(0)
      yield Buffer.from('{"removed":')
    }
    const error = await decodeFileAnswer(nothing()).catch((caught: Error) => caught)
    expect((error as Error).message).to.equal('The bytes ended early.')
  })

  it('reject content that is cut off, even between two frames', async () => {
    async function* half(): AsyncGenerator<Uint8Array> {
      yield* encodeFrame(Buffer.from('{"archive":"data"}'))
      yield* encodeFrame(Buffer.from('some'))
    }
    const { bytes } = await decodeFileAnswer(half())
    const error = await buffer(bytes).catch((caught: Error) => caught)
    expect((error as Error).message).to.equal('The bytes ended early.')
  })

  const PART = { name: 'a', path: '/a', type: 'File', sizeBytes: 9, modifiedAt: '2026-01-01T00:00:00.000Z' }
  const FILE = { ...PART, mode: '0644', linkTarget: null }
  const answering = async function* (answer: unknown, ...pieces: string[]): AsyncGenerator<Uint8Array> {
    yield* encodeFrame(Buffer.from(JSON.stringify(answer)))
    for (const piece of pieces) yield* encodeFrame(Buffer.from(piece))
    yield END_FRAME
  }
  for (const [what, pieces] of [
    ['more', ['some', 'thing']],
    ['fewer', ['so']],
  ] as const)
    it(`reject content with ${what} bytes than announced`, async () => {
      const { bytes } = await decodeFileAnswer(answering({ file: FILE, first: 0, last: 4 }, ...pieces))
      const error = await buffer(bytes).catch((caught: Error) => caught)
      expect((error as Error).message).to.contain('another number of bytes')
    })

  const ODD: [what: string, answer: unknown][] = [
    ['null', null],
    ['an unknown refusal', { refused: 'toString' }],
    ['a range that begins below zero', { file: FILE, first: -1, last: 4 }],
    ['a range that ends behind the file', { file: FILE, first: 0, last: 9 }],
    ['a range that is not a number', { file: FILE, first: 'a', last: null }],
    ['a file with an invalid date', { file: { ...FILE, modifiedAt: 'then' }, first: 0, last: 4 }],
    ['a name that is not Unicode', { entries: [{ ...FILE, name: '\ud800' }], truncated: false }],
    ['an archive with an invalid name', { archive: { toString: 1 } }],
    ['entries that are not a list', { entries: { length: 1 }, truncated: false }],
    ['more than 5,000 entries', { entries: Array(5_001).fill(FILE), truncated: false }],
    ['more values than a list can have', { removed: true, more: Array(50_000).fill(0) }],
    ['more than 8 MiB', { removed: true, more: 'x'.repeat(8 * 1024 * 1024) }],
  ]
  for (const [what, answer] of ODD)
    it(`reject an answer with ${what}`, async () => {
      const error = await decodeFileAnswer(answering(answer)).catch((caught: unknown) => caught)
      expect(error).to.be.instanceOf(Error)
    })

  it('mark the end of an upload', async () => {
    const chunks: Buffer[] = []
    for await (const chunk of encodeFileRequest([], { op: 'list', path: '/' }, undefined)) chunks.push(chunk)
    expect(Buffer.concat(chunks).subarray(-4).readUInt32BE()).to.equal(0)
  })
})
