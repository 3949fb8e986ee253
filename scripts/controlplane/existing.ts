import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { Agent, ProxyAgent, request } from 'undici'
import type { ClusterAccess } from '../../src/kubeconfig/access.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { type Kubeconfig, kubeconfigOf, writeKubeconfigFile } from './kubeconfig.ts'
import { Authority } from './pki.ts'
import { onPath, ProcessGroup, stopLeftovers } from './processes.ts'
import type { ControlPlane } from './types.ts'

/** A cluster that already exists: only its version is read; nothing in it is started or stopped. */
export async function openExisting(folder: string, path: string): Promise<ControlPlane> {
  await stopLeftovers(folder)
  const group = new ProcessGroup(folder)
  const access = loadKubeconfig(path)
  const tls = await access.tls()
  const caPem = tls.ca === undefined ? '' : String(tls.ca)
  const accessOptions = {
    serverName: tls.servername,
    isUnchecked: tls.rejectUnauthorized === false,
    proxyUrl: access.proxyUrl,
  }
  const version = await versionOf(access, path)
  const servingCa = await Authority.open(join(folder, 'pki'), 'serving-ca')
  const refuse = (action: string) => async () => {
    throw new Error(`The cluster of ${path} is not ours to ${action}: do it with that cluster's own means.`)
  }
  return {
    source: 'kubeconfig',
    version,
    simulated: [],
    apiServerUrl: access.server,
    caPem,
    servingCaPem: servingCa.certPem,
    kubeconfigPath: path,
    adminKubeconfig: load(await readFile(path, 'utf8')) as Kubeconfig,
    // `up` puts a link to it there.
    kubectlPath: onPath('kubectl', folder),
    issueClientCertificate: refuse('issue client certificates for'),
    issueServingCertificate: (names) =>
      servingCa.issue({ commonName: names[0] ?? 'freehold', names, purpose: 'server' }),
    writeKubeconfig: (target, ...contexts) =>
      writeKubeconfigFile(target, kubeconfigOf(access.server, caPem, contexts, accessOptions)),
    reconfigure: refuse('configure the API server of'),
    startProcess: (command) => group.start(command),
    processes: group.running,
    failed: group.failed,
    stop: () => group.stop(),
  }
}

async function versionOf(access: ClusterAccess, path: string): Promise<string> {
  const { server } = access
  const dispatcher = await dispatcherOf(access, path)
  try {
    const authorization = await access.authorization()
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await request(`${server}/version`, { dispatcher, headers })
    if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`)
    return ((await answer.body.json()) as { gitVersion: string }).gitVersion
  } catch (error) {
    throw new Error(`The API server of ${path} (${server}) cannot be used: ${(error as Error).message}`)
  } finally {
    await dispatcher.destroy()
  }
}

/** Checks the connection that the operator will use, so that an unusable one is refused before anything is written. */
async function dispatcherOf(access: ClusterAccess, path: string): Promise<Agent | ProxyAgent> {
  const tls = await access.tls()
  const options = { headersTimeout: 10_000 }
  if (access.proxyUrl === undefined) return new Agent({ ...options, connect: tls })
  const protocol = URL.parse(access.proxyUrl)?.protocol ?? 'no protocol'
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new Error(`The proxy-url of ${path} has ${protocol}, which the platform cannot use: name an HTTP proxy.`)
  return new ProxyAgent({ ...options, uri: access.proxyUrl, requestTls: tls })
}
