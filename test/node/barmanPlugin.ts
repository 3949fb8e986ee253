import { execFile } from 'node:child_process'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import { downloadedModule } from '../../scripts/controlplane/definitions.ts'
import { builtTool, type Tool, type ToolSearch } from '../../scripts/controlplane/tool.ts'
import { makeImage } from '../../scripts/node/image.ts'
import { PATH, programImage, pushInto } from '../../scripts/node/images.ts'
import { unpackedPackages } from '../../scripts/node/packages.ts'
import type { EngineHome } from '../../scripts/node/relationalEngine.ts'
import { type CertificatePurpose, createAuthority, issueCertificate } from '../../src/composition/certificates.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { installManifests } from '../../src/kube/crds.ts'

const MODULE = { tool: 'plugin-barman-cloud', module: 'github.com/cloudnative-pg/plugin-barman-cloud' }
const PLUGIN: Tool = { folder: MODULE.tool, package: `${MODULE.module}/cmd/manager`, name: 'manager' }
/** The names in its manifests. */
const IMAGES = {
  plugin: 'cloudnative-pg/plugin-barman-cloud-testing:main',
  sidecar: 'cloudnative-pg/plugin-barman-cloud-sidecar-testing:main',
}
const NAMESPACE = 'cnpg-system'
const NAME = 'barman-cloud'

/**
 * Puts the Barman Cloud plugin of CloudNativePG onto a node that has the engine, with Debian's Barman. It does not wait until
 * the plugin runs.
 *
 * @throws Error that says what is missing
 */
export async function installRelationalBackups(home: EngineHome, search: ToolSearch): Promise<void> {
  const { program, folder, barman } = await relationalBackupParts(search)
  const sidecar = await makeImage({
    name: IMAGES.sidecar,
    layers: [barman, { from: dirname(program), paths: [basename(program)], to: '' }],
    key: `${program} ${barman}`,
    config: { Entrypoint: ['/manager'], Env: [PATH], User: '26:26' },
  })
  await pushInto(home.node, [await programImage(IMAGES.plugin, program, { User: '10001:10001' }), sidecar])
  const { stdout } = await promisify(execFile)(home.kubectl, ['kustomize', join(folder, 'kubernetes')], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const rendered = (loadAll(stdout) as KubeObject[]).filter(
    ({ apiVersion }) => !apiVersion.startsWith('cert-manager.io/'),
  )
  const secrets = await Promise.all([certificate('server'), certificate('client')])
  await installManifests(home.client, [...rendered, ...secrets], {})
}

/** What is built or downloaded for it, the first time in minutes. */
export async function relationalBackupParts(search: ToolSearch) {
  const request = {
    name: 'barman',
    packages: ['barman-cli-cloud', 'libc-bin', 'base-files'],
    dependencies: 'all',
  } as const
  const program = await builtTool(PLUGIN, search)
  const { folder } = await downloadedModule(MODULE, search.environment)
  return { program, folder, barman: await unpackedPackages(request, search) }
}

/** Replaces cert-manager, which a node does not have. Engine and plugin trust exactly these certificates. */
async function certificate(purpose: CertificatePurpose): Promise<KubeObject> {
  const now = new Date()
  // The CA has the same name: a client sends a certificate only if the server names its issuer.
  const by = await createAuthority(NAME, now)
  const names = purpose === 'server' ? { names: [NAME] } : {}
  const { certPem, keyPem } = await issueCertificate(by, { commonName: NAME, purpose, ...names }, now)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${NAME}-${purpose}-tls`, namespace: NAMESPACE },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certPem, 'tls.key': keyPem },
  } as KubeObject
}
