import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import { CommandFailure, EXIT, localTrouble } from './failure.ts'
import type { Manifest } from './manifests.ts'
import type { Session } from './session.ts'

/** Where an API server is, and what is shown to it. */
export type KubernetesAccess = Pick<ClusterAccess, 'server' | 'proxyUrl' | 'tls' | 'authorization'>
type Answer = { readonly status: number; readonly body: Record<string, unknown> }
type Send = (path: string, init?: { method: string; body: string }) => Promise<Answer>

/** What the caller is known by among those who write an object. */
const FIELD_MANAGER = 'freehold'
const SETTLES_WITHIN = 60_000
const PAUSE = 500

/** The API server of a kubeconfig's current context, as the user whom it names. @throws CommandFailure (local) */
export function accessOfKubeconfig(path: string): KubernetesAccess {
  try {
    return loadKubeconfig(path)
  } catch (error) {
    throw localTrouble(`${path} cannot be used as a kubeconfig.`, error)
  }
}

/** The API server of the platform that the caller is signed in to; undefined where none is known. */
export function accessOfSession({
  settings,
  token,
}: Pick<Session, 'settings' | 'token'>): KubernetesAccess | undefined {
  if (settings.kubernetes === undefined) return undefined
  const { server, certificateAuthorityData } = settings.kubernetes
  const ca = certificateAuthorityData && Buffer.from(certificateAuthorityData, 'base64').toString()
  return {
    server,
    proxyUrl: undefined,
    tls: async () => (ca ? { ca } : {}),
    authorization: async () => `Bearer ${await token()}`,
  }
}

/**
 * Applies a manifest at the API server, as `kubectl apply --server-side` does, with the rights of the caller, or of the
 * kubeconfig that was named: what REST has no way to write. The namespace of a boundary or group that was made a moment ago is waited for.
 *
 * @returns whether it was there before, for people
 * @throws CommandFailure (refused) with the sentence of the API server
 */
export async function applyToKubernetes(
  manifest: Manifest,
  access: KubernetesAccess,
  signal: AbortSignal,
): Promise<string> {
  const send = await sender(access, signal)
  const path = await pathOfObject(manifest, send)
  const before = await send(path)
  const until = performance.now() + SETTLES_WITHIN
  for (;;) {
    const query = `fieldManager=${FIELD_MANAGER}`
    const answer = await send(`${path}?${query}`, { method: 'PATCH', body: JSON.stringify(manifest.document) })
    if (answer.status < 400) return outcome(before, answer)
    if (!waitsForNamespace(answer) || performance.now() > until) throw refused(manifest, answer)
    await delay(PAUSE, undefined, { signal })
  }
}

/**
 * What an object holds, and what it would hold if the manifest were applied: the API server is asked, and writes nothing.
 *
 * @returns neither where there is no such object yet
 * @throws CommandFailure (refused) with the sentence of the API server
 */
export async function dryRunAtKubernetes(manifest: Manifest, access: KubernetesAccess, signal: AbortSignal) {
  const send = await sender(access, signal)
  const path = await pathOfObject(manifest, send)
  const before = await send(path)
  // Its namespace may be part of the same files: only what is there can be compared.
  if (before.status === 404) return undefined
  if (before.status >= 400) throw refused(manifest, before)
  const query = `fieldManager=${FIELD_MANAGER}&dryRun=All`
  const after = await send(`${path}?${query}`, { method: 'PATCH', body: JSON.stringify(manifest.document) })
  if (after.status >= 400) throw refused(manifest, after)
  return { before: before.body, after: after.body }
}

function outcome(before: Answer, after: Answer): string {
  if (before.status === 404) return 'created'
  const versionOf = ({ body }: Answer) => (body.metadata as { resourceVersion?: string } | undefined)?.resourceVersion
  return versionOf(before) === versionOf(after) ? 'unchanged' : 'configured'
}

const said = ({ body }: Answer) => (typeof body.message === 'string' ? body.message : 'it gave no reason')

/** A namespace that is not there yet, or that nobody has taken into possession yet. */
function waitsForNamespace(answer: Answer): boolean {
  return (answer.status === 404 || answer.status === 422) && /namespaces? "|stands only in/.test(said(answer))
}

function refused({ kind, name = '' }: Manifest, answer: Answer): CommandFailure {
  const sentence = `${kind} "${name}": ${said(answer)} (${answer.status} of the API server)`
  const hint = answer.status === 403 ? '\nName the kubeconfig of somebody who may with --kubeconfig.' : ''
  return new CommandFailure(EXIT.refused, `${sentence}${hint}`)
}

/** The API server knows which kinds have a namespace, and how they are called in a path. */
async function pathOfObject(manifest: Manifest, send: Send): Promise<string> {
  const { apiVersion, kind, name = '', namespace } = manifest
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const answer = await send(base)
  const resources = (answer.body.resources ?? []) as { name: string; kind: string; namespaced: boolean }[]
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'))
  if (answer.status >= 400 || found === undefined) {
    throw new CommandFailure(EXIT.refused, `The API server serves no ${kind} of ${apiVersion}.`)
  }
  if (!found.namespaced) return `${base}/${found.name}/${encodeURIComponent(name)}`
  if (namespace === undefined) throw new CommandFailure(EXIT.usage, `${kind} "${name}" needs a metadata.namespace.`)
  return `${base}/namespaces/${encodeURIComponent(namespace)}/${found.name}/${encodeURIComponent(name)}`
}

async function sender(access: KubernetesAccess, signal: AbortSignal): Promise<Send> {
  const { server, proxyUrl } = access
  // Slow to load, and only needed here.
  const { Agent, ProxyAgent, fetch } = await import('undici')
  const shown = await shownTo(access)
  const dispatcher =
    proxyUrl === undefined
      ? new Agent({ connect: shown.tls })
      : new ProxyAgent({ uri: proxyUrl, requestTls: shown.tls })
  return async (path, init) => {
    const headers = {
      accept: 'application/json',
      ...(shown.authorization && { authorization: shown.authorization }),
      ...(init && { 'content-type': 'application/apply-patch+yaml' }),
    }
    try {
      const answer = await fetch(`${server}${path}`, { ...init, headers, dispatcher, signal })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    } catch (error) {
      if (signal.aborted) throw error
      throw new CommandFailure(EXIT.network, `No answer from the API server at ${server}.`, { cause: error })
    }
  }
}

/** Files and plugins are asked now: what they lack is no trouble of the network. */
async function shownTo({ tls, authorization }: KubernetesAccess) {
  try {
    return { tls: await tls(), authorization: await authorization() }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw localTrouble('The credentials of the kubeconfig cannot be read.', error)
  }
}
