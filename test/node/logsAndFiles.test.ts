import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { FACADE_ACCOUNT } from '../../scripts/generate/policies.ts'
import { FILES_IMAGE } from '../../scripts/node/filesImage.ts'
import { kubePodLogs } from '../../src/adapters/podlogs/client.ts'
import { podVolumeFiles } from '../../src/adapters/volumefiles/pods.ts'
import type { FilesLocation, VolumeFiles } from '../../src/adapters/volumefiles/port.ts'
import { area, dataAction } from '../../src/api/http/route.ts'
import { fileRoutes } from '../../src/api/resources/files.ts'
import type { FileRequest } from '../../src/contracts/files.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { configMap, job, persistentVolumeClaim, pod } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { createExec } from '../../src/kube/exec.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { PATIENCE } from '../make/until.ts'
import { fastLogSuite } from '../suites/fastLogSuite.ts'
import { podLogsContract } from '../suites/podLogsContract.ts'
import { startFacade } from '../worlds/facadeServer.ts'
import { ranKubectl } from '../worlds/kubectl.ts'
import { expectCall, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, kubeconfigWithToken, testPlatform } from '../worlds/tenant.ts'
import { pushShell, SHELL_IMAGE, shellPod } from './shell.ts'

type Pod = KubeObject & {
  status?: { phase?: string; containerStatuses?: { restartCount: number; state?: { running?: object } }[] }
}

const run = promisify(execFile)

type Volume = { name: string; emptyDir: object }

/** @everyRun */
describe('logs and files on a node', () => {
  let client: KubeClient
  let boundaryId: string
  let group: string
  let namespace: string

  before(async () => {
    client = await administrator()
    await pushShell()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
  })
  after(() => client.close())

  const start = async (
    command: string,
    { volumes = [], ...more }: { volumes?: Volume[]; restartPolicy?: string } = {},
  ) => {
    const made = shellPod(uniqueName('shell'), namespace, command, { volumes })
    await client.create(pod, { ...made, spec: { ...(made.spec as object), ...more } })
    return { namespace, name: made.metadata.name }
  }
  const runs = (ref: { namespace: string; name: string }, restarts = 0) =>
    until(`${ref.name} runs`, async () => {
      const { status } = await client.get<Pod>(pod, ref)
      const [container] = status?.containerStatuses ?? []
      if (container?.state?.running === undefined || container.restartCount < restarts)
        throw new Error(JSON.stringify(status))
      return true
    })

  describe('podVolumeFiles', () => {
    let files: VolumeFiles
    let place: FilesLocation
    let facade: KubeClient
    after(() => facade.close())
    const { signal } = new AbortController()

    before(async () => {
      const claim = uniqueName('claim')
      await client.create(persistentVolumeClaim, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: claim, namespace },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '4Gi' } } },
      } as KubeObject)
      // Any owner counts.
      const owner = await client.create<KubeObject>(configMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: uniqueName('owner'), namespace },
      })
      // With the rights that the facade itself has.
      const access = loadKubeconfig(join(testPlatform().folder, 'platform', 'kubeconfig'), FACADE_ACCOUNT)
      facade = createKubeClient(access, { fieldManager: 'test', userAgent: 'freehold-test' })
      const exec = createExec(access, 'freehold-test')
      const cluster = { client: facade, exec }
      files = podVolumeFiles({ ...cluster, other: () => cluster, image: async () => FILES_IMAGE, isSimulated: false })
      place = {
        namespace,
        owner: { apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid: owner.metadata.uid ?? '' },
        volumes: [
          { path: '/data', claim },
          { path: '/other', claim, subPath: 'sub' },
        ],
        identity: { user: 65_532, fsGroup: 65_532 },
      }
    })

    const ask = async (request: FileRequest, body?: Iterable<Uint8Array>) => {
      async function* parts() {
        yield* body ?? []
      }
      const { answer, bytes } = await files.ask(place, request, { signal, body: parts() })
      return { answer: answer as Record<string, unknown>, bytes }
    }

    it('uploads, downloads in part, archives and removes files', async () => {
      const began = performance.now()
      const content = randomBytes(3_000_000)
      const { answer } = await ask({ op: 'upload', path: '/data', name: 'file', overwrite: true }, [content])
      console.log(`      the first answer took ${((performance.now() - began) / 1000).toFixed(1)} s`)
      expect(answer.isNew).to.equal(true)
      const again = performance.now()
      const part = await ask({ op: 'download', path: '/data/file', range: { first: 1_000_000, last: 1_999_999 } })
      const chunks: Buffer[] = []
      for await (const chunk of part.bytes) chunks.push(chunk as Buffer)
      expect(Buffer.concat(chunks).equals(content.subarray(1_000_000, 2_000_000))).to.equal(true)
      console.log(`      the second ${((performance.now() - again) / 1000).toFixed(1)} s`)
      const archive = await ask({ op: 'archive', path: '/data' })
      const zipped: Buffer[] = []
      for await (const chunk of archive.bytes) zipped.push(chunk as Buffer)
      expect(gunzipSync(Buffer.concat(zipped)).length).to.be.greaterThan(3_000_000)
      expect(
        (await ask({ op: 'move', from: '/data/file', to: '/other/file', overwrite: false })).answer.refused,
      ).to.equal('OtherVolume')
      expect((await ask({ op: 'list', path: '/other/../data' })).answer.refused).to.equal('NotAllowed')
      expect((await ask({ op: 'remove', path: '/data/file', recursive: false })).answer.removed).to.equal(true)
      expect((await ask({ op: 'download', path: '/data/file' })).answer.refused).to.equal('NotFound')
    })

    it('streams uploads and downloads with less than 64 MiB of memory', async () => {
      // One upload is limited to half a gigabyte: more is sent as two files, each over the memory limit.
      const SIZE = Number(process.env.FILE_MEBIBYTES ?? 192) * 1024 ** 2
      const routes = area('apps', 'platform', [
        fileRoutes('{RG}/apps/{appName}', {
          read: dataAction('apps/readFiles'),
          write: dataAction('apps/writeFiles'),
          find: async () => ({ component: 'web', hasVolumes: true, rights: async () => [], ...place }),
        }),
      ]).routes
      const world = await startFacade({ routes }, { volumeFiles: files })
      const [caller, id] = ['11111111-1111-4111-8111-111111111111', '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b']
      world.boundary(id)
      world.group(id, 'orders')
      world.grant(caller, 'Contributor', `/boundaries/${id}`)
      const { port } = await world.facade.listen(0, '127.0.0.1')
      const url = `http://127.0.0.1:${port}/boundaries/${id}/resourcegroups/orders/resources/apps/shop/files`
      const curl = (...words: string[]) => run('curl', ['-sSf', '-H', `Authorization: Bearer ${caller}`, ...words])
      const timed = async (what: string, work: () => Promise<unknown>) => {
        const before = process.memoryUsage().rss
        let most = before
        const timer = setInterval(() => {
          most = Math.max(most, process.memoryUsage().rss)
        }, 50)
        const began = performance.now()
        await work().finally(() => clearInterval(timer))
        const seconds = (performance.now() - began) / 1000
        const grown = (most - before) / 1024 ** 2
        console.log(
          `      ${what}: ${(SIZE / 1024 ** 2 / seconds).toFixed()} MiB/s, ${grown.toFixed()} MiB more memory`,
        )
        return { grown, seconds }
      }
      const exec = createExec(loadKubeconfig(testPlatform().kubeconfig), 'test')
      const raw = async (command: string) => {
        const { items } = await client.list(pod, { namespace, labelSelector: 'freehold.dev/files' })
        const target = { namespace, pod: items[0]?.metadata.name ?? '', container: 'files', signal }
        return exec({ ...target, command: ['node', '-e', command] })
      }
      const chunk = Buffer.alloc(64 * 1024, 1)
      await ask({ op: 'list', path: '/data' })
      const rawDown = await timed('raw, down', async () => {
        const write = `const b = Buffer.alloc(65536); const go = () => { while (n-- > 0) if (!process.stdout.write(b)) return process.stdout.once('drain', go) }`
        const { stdout } = await raw(`let n = ${SIZE / 65_536}; ${write}; process.stdin.resume(); go()`)
        let size = 0
        for await (const bytes of stdout) {
          size += (bytes as Buffer).length
          if (size === SIZE) break
        }
        expect(size).to.equal(SIZE)
      })
      const rawUp = await timed('raw, up', async () => {
        const session = await raw("process.stdin.on('data', () => {}); process.stdin.on('end', () => process.exit(0))")
        for (let at = 0; at < SIZE; at += chunk.length) await session.write(chunk)
        session.end()
        await text(session.stdout)
      })
      const folder = await mkdtemp(join(tmpdir(), 'gigabyte-'))
      try {
        const file = join(folder, 'file')
        // Bytes that nothing on the way could produce itself.
        const halves = ['one', 'two']
        for (const half of halves)
          await run('dd', ['if=/dev/urandom', `of=${file}.${half}`, 'bs=1M', `count=${SIZE / 2 / 1024 ** 2}`])
        const up = await timed('through the facade, up', async () => {
          for (const half of halves)
            await curl('-X', 'POST', '-T', `${file}.${half}`, `${url}/upload?path=/data&name=${half}`)
        })
        const back = (half: string) => join(folder, `back.${half}`)
        const down = await timed('through the facade, down', async () => {
          for (const half of halves) await curl('-o', back(half), `${url}/download?path=/data/${half}`)
        })
        for (const half of halves) await run('cmp', [`${file}.${half}`, back(half)])
        const share = (raw: { seconds: number }, own: { seconds: number }) =>
          `${((100 * raw.seconds) / own.seconds).toFixed()} %`
        console.log(`      of the raw stream: ${share(rawUp, up)} up, ${share(rawDown, down)} down`)
        expect(Math.max(up.grown, down.grown)).to.be.below(64)
        for (const half of halves) await ask({ op: 'remove', path: `/data/${half}`, recursive: false })
      } finally {
        await rm(folder, { recursive: true })
        await world.stop()
      }
    })
  })

  describe('kubePodLogs', () => {
    let logs: ReturnType<typeof kubePodLogs>
    let running: { namespace: string; pod: string; container: string }
    let restarted: typeof running

    before(async () => {
      logs = kubePodLogs(client, { isSimulated: false })
      const lines = 'echo one; echo two; echo three'
      const volumes = [{ name: 'data', emptyDir: {} }]
      const one = await start(`${lines}; until [ -e /data/go ]; do sleep 0.2; done; echo four`, { volumes })
      const two = await start('if [ -e /data/again ]; then echo after; sleep 600; fi; touch /data/again; echo before', {
        volumes,
        restartPolicy: 'Always',
      })
      await Promise.all([runs(one), runs(two, 1)])
      const source = (name: string) => ({ namespace, pod: name, container: 'shell' })
      ;[running, restarted] = [source(one.name), source(two.name)]
      await until('both have written', async () => {
        const found = await Promise.all([running, restarted].map(async (each) => logs.open(each)))
        const texts = await Promise.all(found.map((chunks) => (chunks === undefined ? '' : text(chunks))))
        return texts[0]?.includes('three') && texts[1]?.includes('after')
      })
    })

    const goOn = async () => {
      const exec = createExec(loadKubeconfig(testPlatform().kubeconfig), 'test')
      const signal = AbortSignal.timeout(PATIENCE)
      const { stdout } = await exec({ ...running, command: ['touch', '/data/go'], signal })
      await text(stdout)
    }
    podLogsContract(() => ({ logs, running, restarted, goOn }))

    fastLogSuite(() => ({
      logs,
      async write(script) {
        const writer = await start(script)
        await runs(writer)
        const source = { namespace, pod: writer.name, container: 'shell' }
        return { source, remove: () => client.remove(pod, writer) }
      },
    }))
  })

  it('logs are followed by 100 clients over one stream, until the permission is removed', async () => {
    const name = uniqueName('job')
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/jobs/${name}`
    const [image = '', tag = ''] = SHELL_IMAGE.split(/:(?=[^:]*$)/)
    const command = ['sh', '-c', 'n=0; while true; do n=$((n+1)); echo line $n; sleep 0.2; done']
    const { apiVersion, kind } = PlatformJob
    const spec = { image, tag, command, runAsUser: 65_532 }
    await client.create(PlatformJob.resource, { apiVersion, kind, metadata: { name, namespace }, spec })
    await until(
      'it runs',
      async () => (await expectCall<{ status: string }>(200, 'GET', path)).body.status === 'Running',
    )
    const scope = `/boundaries/${boundaryId}/resourcegroups/${group}`
    const { token, principalId } = await makeCaller({ Contributor: scope })
    const url = `${testPlatform().facadeUrl}${path}/logs?follow=true&tail=5`
    const seen = Array.from({ length: 100 }, () => ({ text: '', first: 0, hasEnded: false }))
    for (const each of seen) {
      const began = performance.now()
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      expect(answer.status).to.equal(200)
      void (async () => {
        for await (const chunk of answer.body ?? []) {
          if (each.first === 0) each.first = performance.now() - began
          each.text += Buffer.from(chunk).toString()
        }
        each.hasEnded = true
      })().catch(() => {
        each.hasEnded = true
      })
    }
    await until('each has seen more than the beginning', () => seen.every(({ text }) => text.split('\n').length > 10))
    for (const { text } of seen) {
      const numbers = text
        .split('\n')
        .slice(0, -1)
        .map((line) => Number(line.slice('line '.length)))
      expect(numbers).to.deep.equal(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    }
    const metrics = await (await client.request({ path: '/metrics' })).text()
    const streams = /apiserver_longrunning_requests\{[^}]*subresource="log"[^}]*\} (\d+)/.exec(metrics)?.[1]
    expect(streams).to.equal('1')
    const firsts = seen.map(({ first }) => first).sort((a, b) => a - b)
    console.log(`      first lines after ${firsts[0]?.toFixed()} to ${firsts.at(-1)?.toFixed()} ms`)
    const { items } = await client.list(RoleAssignment.resource, { namespace: `boundary-${boundaryId}` })
    const own = items.filter(({ spec }) => (spec as { principalId?: string }).principalId === principalId)
    const withdrawn = performance.now()
    for (const { metadata } of own) await client.remove(RoleAssignment.resource, metadata)
    await until('every answer has ended', () => seen.every(({ hasEnded }) => hasEnded))
    console.log(`      ended ${((performance.now() - withdrawn) / 1000).toFixed(1)} s after the permission`)
    await expectCall(204, 'DELETE', path)
  })

  it('kubectl reads logs of jobs with readLogs, and may not exec, cp, attach, port-forward or debug', async () => {
    const name = uniqueName('job')
    const [image = '', tag = ''] = SHELL_IMAGE.split(/:(?=[^:]*$)/)
    const { apiVersion, kind } = PlatformJob
    const spec = { image, tag, command: ['sh', '-c', 'echo hello; sleep 600'], runAsUser: 65_532 }
    await client.create(PlatformJob.resource, { apiVersion, kind, metadata: { name, namespace }, spec })
    const ownPod = await until('its pod runs', async () => {
      const { items } = await client.list<Pod>(pod, { namespace, labelSelector: `freehold.dev/owner-name=${name}` })
      return items.find(({ status }) => status?.phase === 'Running')?.metadata.name
    })
    const foreign = await start('echo secret; sleep 600')
    await runs(foreign)
    const scope = `/boundaries/${boundaryId}/resourcegroups/${group}`
    const folder = await mkdtemp(join(tmpdir(), 'tenants-'))
    const kubectlOf = async (role: string) => {
      const { token, principalId } = await makeCaller({ [role]: scope })
      const kubeconfig = join(folder, principalId)
      await writeFile(kubeconfig, kubeconfigWithToken(token))
      return async (...words: string[]) => {
        const { code, stdout, stderr } = await ranKubectl(['-n', namespace, ...words], { kubeconfig })
        if (code === 0) return stdout
        return /forbidden/i.test(stderr) ? 'forbidden' : stderr
      }
    }
    try {
      const [contributor, reader] = await Promise.all([kubectlOf('Contributor'), kubectlOf('Reader')])
      await until('the API server takes tokens', async () =>
        (await reader('get', 'pod', ownPod, '-o', 'name')).startsWith('pod/'),
      )
      expect(await contributor('logs', ownPod)).to.equal('hello\n')
      expect(await reader('logs', ownPod)).to.equal('forbidden')
      for (const ref of [ownPod, foreign.name]) {
        expect(await contributor('exec', ref, '--', 'true'), ref).to.equal('forbidden')
        expect(await contributor('cp', `${ref}:/etc/passwd`, join(folder, 'stolen')), ref).to.equal('forbidden')
        expect(await contributor('port-forward', ref, ':8080'), ref).to.equal('forbidden')
        expect(await contributor('attach', ref), ref).to.equal('forbidden')
        expect(await contributor('debug', ref, '--image', SHELL_IMAGE), ref).to.equal('forbidden')
      }
      expect(await contributor('logs', foreign.name)).to.equal('forbidden')
    } finally {
      await rm(folder, { recursive: true })
      await client.remove(PlatformJob.resource, { namespace, name })
    }
  })

  // A separate suite, because mocha runs suites last: such a pod waits a minute for the next request, while logs are
  // tested.
  describe('pod for files of a volume', () => {
    it('is deleted when it is no longer used', async () => {
      await until('the pod beside the volume has gone', async () => {
        const { items } = await client.list(job, { namespace, labelSelector: 'freehold.dev/files' })
        return items.length === 0
      })
    })
  })
})
