import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { SignJWT } from 'jose'
import { dump } from 'js-yaml'
import { type ControlPlane, silentProgress, startControlPlane } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { NODE_ADDRESS, REGISTRY } from '../../scripts/node/addresses.ts'
import { pushInto } from '../../scripts/node/images.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import { platformImage } from '../../scripts/node/platformImage.ts'
import { findNodeParts } from '../../scripts/node/programs.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { AUDIENCE, goodClaims, type Pair, pairOf } from '../cases/forgedTokens.ts'
import { until } from '../make/until.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
/** The source tree of a version of the platform, and the tag of its image. */
type Version = { readonly tag: string; readonly root: string }
const TODAY: Version = { tag: 'today', root: ROOT }
/** Of each deployment of the platform. */
export const REPLICAS = { controllers: 2, facade: 2, activator: 2 }
/** Cluster-scoped objects, and the namespaces. */
const EVERYTHING = [
  'customresourcedefinitions',
  'clusterroles',
  'clusterrolebindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'flowschemas',
  'prioritylevelconfigurations',
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'apiservices',
  'namespaces',
].join()
const ISSUER_PORT = 8443
const ISSUER = `https://${NODE_ADDRESS}:${ISSUER_PORT}/realms/test`
/** Serves only the issuer's keys, which is all that the platform asks for. */
const ISSUER_SCRIPT = `
  const { ISSUER_CERTIFICATE: cert, ISSUER_KEY: key, ISSUER_KEYS: keys, ISSUER_PLACE: place } = process.env
  const [host, port] = place.split(':')
  require('node:https').createServer({ cert, key }, (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(keys)
  }).listen(Number(port), host)`

/** The platform on a node as an administrator installs it: its image, its manifests, an issuer, a first Owner. */
export class Installation {
  readonly #controlPlane: ControlPlane
  readonly #folder: string
  readonly #pair: Pair
  readonly #owner = randomUUID()
  readonly #forward: ChildProcess
  readonly #empty: readonly string[]
  /** Of the facade, through its Service. */
  readonly url: string

  private constructor(parts: {
    controlPlane: ControlPlane
    folder: string
    pair: Pair
    forward: ChildProcess
    url: string
    empty: readonly string[]
  }) {
    this.#controlPlane = parts.controlPlane
    this.#folder = parts.folder
    this.#pair = parts.pair
    this.#forward = parts.forward
    this.url = parts.url
    this.#empty = parts.empty
  }

  /**
   * The previous version, as docs/install.md says. Returns when it is rolled out and the first Owner's role is
   * effective.
   */
  static async make(): Promise<Installation> {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-installation-'))
    const controlPlane = await startControlPlane({
      folder,
      durable: false,
      realNode: { ports: [] },
      progress: silentProgress,
    })
    try {
      return await Installation.#on(controlPlane, folder)
    } catch (error) {
      await controlPlane.stop()
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  static async #on(controlPlane: ControlPlane, folder: string): Promise<Installation> {
    const pair = await pairOf('ES256', 'one')
    await startIssuer(controlPlane, pair)
    const before = await versionBefore(folder)
    for (const version of [before, TODAY]) {
      await pushPlatform(folder, version)
      await writeOverlay(folder, controlPlane.servingCaPem, version)
    }
    const kubectl = kubectlOf(controlPlane)
    const empty = await everything(kubectl)
    await kubectl('apply', '--server-side', '-k', join(folder, before.tag))
    const service = JSON.parse(await kubectl('get', 'service', 'freehold-facade', '-n', SYSTEM_NAMESPACE, '-o', 'json'))
    const { forward, url } = await forwardTo(folder, `${service.spec.clusterIP}:80`)
    const made = new Installation({ controlPlane, folder, pair, forward, url, empty })
    await made.#installed()
    return made
  }

  async #installed(): Promise<void> {
    await this.rolledOut()
    const metadata = { name: 'first-owner', namespace: SYSTEM_NAMESPACE }
    const spec = { principalId: this.#owner, principalType: 'User', roleDefinitionName: 'Owner', scope: '/' }
    const assignment = { apiVersion: RoleAssignment.apiVersion, kind: RoleAssignment.kind, metadata, spec }
    const file = join(this.#folder, 'owner.yaml')
    await writeFile(file, dump(assignment))
    await until('the first Owner may be made', () => this.kubectl('apply', '-f', file))
    await until('the first Owner counts', async () => {
      const { status, text } = await this.call('POST', '/boundaries', { displayName: 'First' })
      if (status !== 201) throw new Error(`${status} ${text}`)
      return true
    })
  }

  /** In the platform's own namespace. */
  kubectl(...words: string[]): Promise<string> {
    return this.#kubectl('--namespace', SYSTEM_NAMESPACE, ...words)
  }

  #kubectl(...words: string[]): Promise<string> {
    return kubectlOf(this.#controlPlane)(...words)
  }

  /** To the version of this tree, as docs/install.md says. */
  async upgrade(): Promise<void> {
    await this.#kubectl('apply', '--server-side', '-k', join(this.#folder, TODAY.tag))
    await this.rolledOut()
  }

  /** As docs/install.md says. @returns what remains that did not exist before the installation */
  async uninstall(): Promise<string[]> {
    for (const kind of ['resourcegroups', 'boundaries']) {
      const all = [`${kind}.freehold.dev`, '--all', ...(kind === 'resourcegroups' ? ['-A'] : [])]
      await this.#kubectl('delete', ...all, '--timeout=10m')
    }
    const outside = 'idpbindings.iam.freehold.dev,platformbackupsettings.lifecycle.freehold.dev'
    await this.#kubectl('delete', outside, '--all', '-n', SYSTEM_NAMESPACE, '--timeout=10m')
    const guard = ['validatingadmissionpolicy', 'validatingadmissionpolicybinding'].map(
      (kind) => `${kind}/freehold-removal`,
    )
    await this.#kubectl('patch', ...guard, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await this.#kubectl('delete', '-k', join(this.#folder, TODAY.tag), '--ignore-not-found', '--timeout=10m')
    const left = await everything((...words) => this.#kubectl(...words))
    return left.filter((each) => !this.#empty.includes(each))
  }

  /** Until all replicas of all deployments are the newest ones, and ready. */
  async rolledOut(): Promise<void> {
    for (const part of Object.keys(REPLICAS))
      await this.kubectl('rollout', 'status', `deployment/freehold-${part}`, '--timeout=900s')
  }

  /** As the first Owner. @throws Error if there was no answer */
  async call(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${await this.#token()}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${this.url}${path}`, { method, headers, ...sent })
    return { status: answer.status, text: await answer.text() }
  }

  #token(): Promise<string> {
    const { iat: _iat, exp: _exp, ...claims } = goodClaims
    const ours = { ...claims, iss: ISSUER, aud: AUDIENCE, sub: this.#owner }
    const token = new SignJWT(ours).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: this.#pair.kid })
    return token.setIssuedAt().setExpirationTime('15m').sign(this.#pair.privateKey)
  }

  async stop(): Promise<void> {
    this.#forward.kill()
    await this.#controlPlane.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function kubectlOf({ kubectlPath = 'kubectl', kubeconfigPath }: ControlPlane) {
  return async (...words: string[]) =>
    (await run(kubectlPath, ['--kubeconfig', kubeconfigPath, ...words], { maxBuffer: 1e8 })).stdout
}

async function startIssuer(controlPlane: ControlPlane, pair: Pair): Promise<void> {
  const { certPem, keyPem } = await controlPlane.issueServingCertificate([NODE_ADDRESS])
  const environment = {
    ISSUER_CERTIFICATE: certPem,
    ISSUER_KEY: keyPem,
    ISSUER_KEYS: JSON.stringify({ keys: [pair.jwk] }),
    ISSUER_PLACE: `${NODE_ADDRESS}:${ISSUER_PORT}`,
  }
  const program = process.execPath
  controlPlane.startProcess({
    name: 'issuer',
    program,
    args: ['-e', ISSUER_SCRIPT],
    environment: { ...process.env, ...environment },
  })
}

async function everything(kubectl: (...words: string[]) => Promise<string>): Promise<string[]> {
  return (await kubectl('get', EVERYTHING, '--output=name')).split('\n').filter((each) => each !== '')
}

/** The previous commit; if its tree is unavailable, as in a shallow clone, the present one. */
async function versionBefore(folder: string): Promise<Version> {
  const root = join(folder, 'tree')
  await mkdir(root)
  try {
    await run('sh', ['-c', 'git archive HEAD~1 | tar -x -C "$1"', 'sh', root], { cwd: ROOT })
    return { tag: 'before', root: existsSync(join(root, 'deploy')) ? root : ROOT }
  } catch {
    return { tag: 'before', root: ROOT }
  }
}

async function pushPlatform(folder: string, { tag, root }: Version): Promise<void> {
  const node = await runningNamespaces(folder)
  if (node === undefined) throw new Error('The node of the installation has ended.')
  const image = await platformImage(`freehold:${tag}`, { progress: silentProgress, signal: undefined }, root)
  await pushInto(node, [image])
  // A new tag for each change of the sources, or nodes would not pull the image again.
  await rm(image.folder, { recursive: true, force: true })
}

/** What docs/install.md tells an administrator to write. */
async function writeOverlay(folder: string, authority: string, { tag, root }: Version): Promise<void> {
  const overlay = join(folder, tag)
  const configuration = {
    issuer: ISSUER,
    audience: AUDIENCE,
    issuerCertificateAuthority: '/etc/freehold/authority.crt',
    clusterDomain: 'apps.example.test',
  }
  const patch = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'freehold-configuration', namespace: SYSTEM_NAMESPACE },
    data: { 'configuration.yaml': dump(configuration), 'authority.crt': authority },
  }
  await mkdir(overlay)
  const kustomization = {
    resources: [relative(overlay, join(root, 'deploy'))],
    images: [{ name: 'ghcr.io/freehold-dev/freehold', newName: `${REGISTRY}/freehold`, newTag: tag }],
    patches: [{ patch: dump(patch) }],
  }
  await writeFile(join(overlay, 'kustomization.yaml'), dump(kustomization))
}

/** Opens an address of the node's network on loopback here. */
async function forwardTo(folder: string, address: string): Promise<{ forward: ChildProcess; url: string }> {
  const node = await runningNamespaces(folder)
  const parts = await findNodeParts({ progress: silentProgress, signal: undefined })
  const { port } = await choosePorts(join(folder, TODAY.tag), ['port'])
  const forward = spawn(parts.forward, [String(node?.pid), `${port}=${address}`], { stdio: 'ignore' })
  return { forward, url: `http://127.0.0.1:${port}` }
}
