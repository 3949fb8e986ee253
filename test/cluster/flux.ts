import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { definitionsOf } from '../../scripts/controlplane/definitions.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { findTool, isToolBuilt, type Tool } from '../../scripts/controlplane/tool.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { customResourceDefinition } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { until } from '../make/until.ts'

const MODULE = 'github.com/fluxcd/kustomize-controller'
const TOOL = { folder: 'flux', package: MODULE, name: 'kustomize-controller' } as const satisfies Tool
/** Milliseconds. */
const SERVED_WITHIN = 180_000
const SOURCES = ['GitRepository', 'OCIRepository', 'Bucket'] as const

export const isFluxBuilt = () => isToolBuilt(TOOL)

const flux = (group: string, kind: string): Resource => ({
  group: `${group}.toolkit.fluxcd.io`,
  version: 'v1',
  plural: kind === 'Kustomization' ? 'kustomizations' : 'gitrepositories',
  kind,
  namespaced: true,
})
export const kustomization = flux('kustomize', 'Kustomization')
const gitRepository = flux('source', 'GitRepository')

/** A tree for Flux to fetch: its files, by name. */
export type Tree = Readonly<Record<string, string>>

export type RunningFlux = {
  /** Sets the content of the branch for Flux. @returns the revision that its status will show */
  push(tree: Tree): Promise<string>
  /** The same with an archive created by Git, at its commit. */
  offer(archive: Buffer, commit: string): Promise<string>
  readonly logFile: string
  stop(): Promise<void>
}

type Place = { client: KubeClient; kubeconfig: string; folder: string; namespace: string; name: string }

/**
 * Flux's real kustomize-controller on the API server, as the administrator of the kubeconfig. Its sources are
 * stand-ins: a GitRepository whose CRD accepts anything, and whose archive this process serves, just as the controller
 * that clones repositories does.
 */
export async function startFlux({ client, kubeconfig, folder, namespace, name }: Place): Promise<RunningFlux> {
  const found = await findTool(TOOL, { progress: silent, signal: undefined })
  if (!('program' in found)) throw new Error(`Flux needs Go ${found.needsGo} to be built.`)
  const definitions = [
    ...(await definitionsOf({ tool: 'flux', module: MODULE, folder: 'config/crd/bases', cachedAs: 'flux-kustomize' })),
    ...SOURCES.map(sourceDefinition),
  ]
  // Its controllers exit at once if a kind is not served yet.
  await installManifests(client, definitions, { timeout: SERVED_WITHIN })
  const archives = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '')
    response.writeHead(archive === undefined ? 404 : 200).end(archive)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const group = new ProcessGroup(folder)
  const { logFile } = group.start({
    name: 'kustomize-controller',
    program: found.program,
    args: ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0', '--requeue-dependency=2s', '--http-retry=1'],
    environment: { ...process.env, KUBECONFIG: kubeconfig, RUNTIME_NAMESPACE: namespace, TMPDIR: folder },
  })
  const offer = async (archive: Buffer, commit?: string) => {
    const digest = createHash('sha256').update(archive).digest('hex')
    const path = `/${digest}.tar.gz`
    archives.set(path, archive)
    const artifact = { url: `http://127.0.0.1:${port}${path}`, digest, commit: commit ?? digest.slice(0, 40) }
    return setArtifact(client, { namespace, name }, artifact)
  }
  return {
    logFile,
    push: async (tree) => offer(await archiveOf(tree)),
    offer,
    async stop() {
      await group.stop()
      await closed(server)
      for (const { metadata } of definitions) await client.remove(customResourceDefinition, { name: metadata.name })
    },
  }
}

const silent = { step: <T>(_what: string, work: () => Promise<T>) => work(), note: () => undefined }

type Named = { namespace: string; name: string }

type Offered = { url: string; digest: string; commit: string }

async function setArtifact(client: KubeClient, at: Named, { url, digest, commit }: Offered): Promise<string> {
  const apiVersion = `${gitRepository.group}/${gitRepository.version}`
  const object = { apiVersion, kind: gitRepository.kind, metadata: at, spec: { url: 'https://git.example.com/a.git' } }
  const revision = `main@sha1:${commit}`
  const lastUpdateTime = new Date().toISOString()
  const artifact = { url, path: new URL(url).pathname.slice(1), revision, digest: `sha256:${digest}`, lastUpdateTime }
  const ready = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored' }
  const conditions = [{ ...ready, lastTransitionTime: lastUpdateTime }]
  // The CRD may have been created only just now.
  await until('a GitRepository can be stored', async () =>
    client.apply(gitRepository, object as KubeObject, { force: true }),
  )
  const status = { artifact, conditions, observedGeneration: 1 }
  await client.mergePatch(gitRepository, at, { status }, { subresource: 'status' })
  return revision
}

/** A CRD that accepts anything. */
function sourceDefinition(kind: string): KubeObject {
  const plural = kind === 'Bucket' ? 'buckets' : `${kind.slice(0, -1).toLowerCase()}ies`
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.source.toolkit.fluxcd.io` },
    spec: {
      group: 'source.toolkit.fluxcd.io',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
        },
      ],
    },
  }
}

async function archiveOf(tree: Tree): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of Object.entries(tree)) archive.entry({ name, mtime: new Date(0) }, text)
  archive.finalize()
  return gzipSync(await buffer(archive))
}

const closed = (server: Server) =>
  new Promise<void>((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })
