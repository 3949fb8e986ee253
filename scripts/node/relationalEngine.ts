import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { cachedAt } from '../controlplane/cache.ts'
import { downloadedModule } from '../controlplane/definitions.ts'
import { ARCHITECTURE } from '../controlplane/nodes.ts'
import { builtTool, type Tool, type ToolSearch } from '../controlplane/tool.ts'
import { type Image, makeImage } from './image.ts'
import { PATH, pushInto } from './images.ts'
import type { Namespaces } from './namespaces.ts'
import { unpackedPackages } from './packages.ts'

const MODULE = { tool: 'cloudnative-pg', module: 'github.com/cloudnative-pg/cloudnative-pg' }
const OPERATOR: Tool = { folder: MODULE.tool, package: `${MODULE.module}/cmd/manager`, name: 'manager' }
const REPOSITORY = 'cloudnative-pg/cloudnative-pg'
/** The placeholder for the image in the manifests of a release. */
const PLACEHOLDER = 'controller:latest'
const BIN_FOLDER = 'usr/local/bin'
const FILES = join(import.meta.dirname, 'images/postgresql')

const mutatingWebhookConfiguration: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
}

export type EngineHome = {
  readonly node: Pick<Namespaces, 'inNetwork'>
  readonly client: KubeClient
  /** Path of the program, which renders the manifests. */
  readonly kubectl: string
}

/**
 * Puts CloudNativePG and Debian's PostgreSQL onto a node, as a cloud's cluster would have them. The manifests are those of
 * the release. Does not wait until the operator runs.
 *
 * @returns the major version of PostgreSQL that databases can have here
 * @throws Error that says what is missing
 */
export async function installRelationalEngine(home: EngineHome, search: ToolSearch): Promise<string> {
  const { program, version, folder, image, major } = await relationalEngineParts(search)
  const name = `${REPOSITORY}:${version.replace(/^v/, '')}`
  await pushInto(home.node, [await operator(name, program), image])
  const { stdout } = await promisify(execFile)(home.kubectl, ['kustomize', join(folder, 'config/default')], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const manifests = loadAll(stdout.replaceAll(PLACEHOLDER, `ghcr.io/${name}`)) as KubeObject[]
  await installManifests(home.client, manifests, { resources: [mutatingWebhookConfiguration] })
  return major
}

/** What is built or downloaded for it, the first time in minutes. @throws Error that says what is missing */
export async function relationalEngineParts(search: ToolSearch) {
  const [program, module] = await Promise.all([
    builtTool(OPERATOR, search),
    downloadedModule(MODULE, search.environment),
  ])
  return { program, ...module, ...(await postgresql(search)) }
}

/** The operator looks for itself by architecture, and copies that file into the pods of its instances. */
function operator(name: string, program: string): Promise<Image> {
  const byArchitecture = `operator/manager_${ARCHITECTURE}`
  return withFolder('operator', async (temporary) => {
    await mkdir(join(temporary, 'operator'), { mode: 0o755 })
    await copyFile(program, join(temporary, byArchitecture))
    await chmod(join(temporary, byArchitecture), 0o755)
    await symlink(byArchitecture, join(temporary, 'manager'))
    const config = { Entrypoint: ['/manager'], User: '65532:65532', WorkingDir: '/' }
    return makeImage({ name, layers: [temporary], key: program, config })
  })
}

/** Debian's version. Its programs are linked to where the operator looks for them. */
async function postgresql(search: ToolSearch): Promise<{ image: Image; major: string }> {
  const packages = ['postgresql', 'dash', 'coreutils', 'libc-bin', 'base-files']
  const root = await unpackedPackages({ name: 'postgresql', packages, dependencies: 'all' }, search)
  const [major = ''] = await readdir(join(root, 'usr/lib/postgresql'))
  const programs = join('usr/lib/postgresql', major, 'bin')
  const accounts = await readFile(join(FILES, 'etc/passwd'), 'utf8')
  return withFolder('postgresql', async (temporary) => {
    await mkdir(join(temporary, BIN_FOLDER), { recursive: true, mode: 0o755 })
    for (const program of await readdir(join(root, programs)))
      await symlink(`/${programs}/${program}`, join(temporary, BIN_FOLDER, program))
    const image = await makeImage({
      name: `cloudnative-pg/postgresql:${major}`,
      layers: [root, temporary, { from: FILES, paths: ['etc'], to: '' }],
      key: createHash('sha256').update(root).update(accounts).digest('hex'),
      config: { Env: [PATH], User: '26:26' },
    })
    return { image, major }
  })
}

/** A folder for a layer that exists while the image is built. */
async function withFolder<Made>(name: string, make: (temporary: string) => Promise<Made>): Promise<Made> {
  const temporary = await mkdtemp(cachedAt(`${name}-layer-`))
  try {
    await chmod(temporary, 0o755)
    return await make(temporary)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
