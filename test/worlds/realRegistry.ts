import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ControlPlane } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { startRegistry } from '../../scripts/registry/start.ts'
import { createRegistryClient } from '../../src/adapters/registry/client.ts'
import { registryDisk } from '../../src/adapters/registry/disk.ts'
import { createRegistryKeys } from '../../src/adapters/registry/keys.ts'
import { issueCertificate } from '../../src/composition/certificates.ts'
import { endedBy } from '../make/ownProcess.ts'
import type { PushImage } from '../suites/imageRegistryContract.ts'

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'

/** A registry for one test, as the platform itself reaches it, and images as a client pushes them. */
export async function startRealRegistry(program: string) {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-registry-'))
  const { registry: port = 0 } = await choosePorts(folder, ['registry'])
  const children: ChildProcess[] = []
  const beside = {
    failed: new Promise<never>(() => {}),
    startProcess: ({ program: path, args }: { program: string; args: readonly string[] }) =>
      children.push(spawn(path, args, { stdio: 'ignore', env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' } })),
  } as unknown as ControlPlane
  // Its notifications are lost: the port does not answer.
  const running = await startRegistry(beside, { program, folder, ports: { registry: port, facade: 9 } })
  const { url, host, storageFolder, authorityCertificate, authorityKey } = running
  const keys = createRegistryKeys({
    authority: { certPem: readFileSync(authorityCertificate, 'utf8'), keyPem: readFileSync(authorityKey, 'utf8') },
    certify: (by, now) => issueCertificate(by, { commonName: 'tests', purpose: 'client' }, now),
    issuer: 'freehold',
    service: host,
  })
  const tokenFor = (type: string, name: string, actions: readonly string[]) =>
    keys.token('freehold', [{ type, name, actions }], { now: Date.now(), seconds: 60 })
  const registry = createRegistryClient({ url, tokenFor, disk: registryDisk(storageFolder) })

  const push: PushImage = async (repository, tag, text) => {
    const token = await tokenFor('repository', repository, ['pull', 'push'])
    const send = async (method: string, target: string, body?: string, type = 'application/octet-stream') => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': type }
      const answer = await fetch(new URL(target, url), { method, headers, ...(body !== undefined && { body }) })
      if (!answer.ok) throw new Error(`${method} ${target} answered ${answer.status}.`)
      return answer
    }
    const blob = async (content: string) => {
      const begun = await send('POST', `/v2/${repository}/blobs/uploads/`)
      const target = new URL(begun.headers.get('location') ?? '', url)
      target.searchParams.set('digest', digestOf(content))
      await send('PUT', target.href, content)
      return { digest: digestOf(content), size: content.length }
    }
    const layer = { mediaType: 'application/vnd.oci.image.layer.v1.tar', ...(await blob(`${repository} ${text}`)) }
    const rootfs = { type: 'layers', diff_ids: [layer.digest] }
    const described = await blob(JSON.stringify({ os: 'linux', architecture: 'amd64', config: {}, rootfs }))
    const config = { mediaType: 'application/vnd.oci.image.config.v1+json', ...described }
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] })
    await send('PUT', `/v2/${repository}/manifests/${tag ?? digestOf(manifest)}`, manifest, MANIFEST)
    return digestOf(manifest)
  }
  return {
    url,
    tokenFor,
    registry,
    push,
    async stop() {
      for (const child of children) {
        await endedBy(child)
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}
