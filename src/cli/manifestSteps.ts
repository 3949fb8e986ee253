import { boundaryOfNamespace, groupNamespace, groupOfNamespace, isUuid, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { Collection } from './collection.ts'
import type { Context, Input, Option } from './command.ts'
import { CommandFailure, mapOrFailTogether, usage } from './failure.ts'
import { accessOfKubeconfig, accessOfSession, openKubernetes, type SendToKubernetes } from './kubernetes.ts'
import { type DryRunRefusal, findDryRunRefusal } from './kubernetesObjects.ts'
import {
  isWrittenByRest,
  type Manifest,
  type ManifestPlan,
  manifestsIn,
  planManifest,
  requireKnownKind,
  scopeOfManifest,
  withDefaultNamespace,
} from './manifests.ts'
import { type Session, selectedScope } from './session.ts'

export const KUBECONFIG: Option = {
  long: 'kubeconfig',
  value: 'FILE',
  summary: 'What REST cannot write goes to the API server of this file, with the rights of its user',
}

/** A manifest, and how REST writes it; undefined if only the API server can. */
export type ManifestStep = { readonly manifest: Manifest; readonly plan: ManifestPlan | undefined }

/** Connects to the API server; undefined if none is known. */
export async function kubernetesFor(
  input: Input,
  session: Session,
  { signal }: Context,
): Promise<SendToKubernetes | undefined> {
  const kubeconfig = input.text('kubeconfig')
  const access = kubeconfig === undefined ? accessOfSession(session) : accessOfKubeconfig(kubeconfig)
  return access === undefined ? undefined : openKubernetes(access, signal)
}

/** Reads all manifests of the given files, and places each. @throws CommandFailure (usage) */
export async function planManifestSteps(
  input: Input,
  session: Session,
  context: Context,
  kubernetes: SendToKubernetes | undefined,
): Promise<ManifestStep[]> {
  const files = input.all('file')
  if (files.length === 0) throw usage('--file is missing.')
  const place = selectedScope(input, session.settings)
  const found: Manifest[] = []
  for await (const manifest of manifestsIn(files, context.terminal)) found.push(manifest)
  if (found.length === 0) throw usage('The input contains no manifest.')
  const boundaries = boundariesIn(found)
  return mapOrFailTogether(found, (manifest) => {
    const boundary = boundaries.find((id) => isGroupOf(id, manifest)) ?? place.boundary
    return planManifestStep(manifest, context.collections, { ...place, boundary }, kubernetes !== undefined)
  })
}

/** Returns the boundaries that the manifests define or refer to. */
const boundariesIn = (manifests: readonly Manifest[]): string[] =>
  manifests.flatMap(({ kind, name = '', namespace = '' }) => {
    const id = kind === 'Boundary' ? name : boundaryOfNamespace(namespace)
    return id !== undefined && isUuid(id) ? [id] : []
  })

const isGroupOf = (boundary: string, { namespace = '' }: Manifest) =>
  groupNamespace(boundary, groupOfNamespace(namespace)) === namespace

/**
 * @param hasKubernetes whether there is an API server for what REST cannot write
 * @throws CommandFailure (usage) with file and document if neither can write it
 */
export function planManifestStep(
  manifest: Manifest,
  collections: readonly Collection[],
  place: ReturnType<typeof selectedScope>,
  hasKubernetes: boolean,
): ManifestStep {
  requireKnownKind(manifest)
  try {
    // An unknown namespace is a mistake in either case. For `freehold-system`, only the API server can tell.
    if (hasKubernetes && manifest.namespace !== undefined && manifest.namespace !== SYSTEM_NAMESPACE)
      scopeOfManifest(manifest, place)
    const plan = planFor(manifest, collections, place, hasKubernetes && manifest.name !== undefined)
    return { manifest: withDefaultNamespace(manifest, place), plan }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    throw new CommandFailure(error.exitCode, `${manifest.location}: ${error.message}`, { cause: error })
  }
}

function planFor(
  manifest: Manifest,
  collections: readonly Collection[],
  place: ReturnType<typeof selectedScope>,
  isWrittenElsewhere: boolean,
): ManifestPlan | undefined {
  try {
    return planManifest(manifest, collections, place)
  } catch (error) {
    if (!(error instanceof CommandFailure) || !isWrittenElsewhere) throw error
    // REST could write it if its namespace were known, so that must not be guessed for the API server either.
    if (manifest.namespace === undefined && isWrittenByRest(manifest, collections)) throw error
    return undefined
  }
}

/**
 * Asks the API server about a manifest before it is written; undefined if it accepts it, or was not asked. If REST
 * writes the manifest, errors of the API server are ignored.
 */
export async function judgeManifest(
  { manifest, plan }: ManifestStep,
  kubernetes: SendToKubernetes | undefined,
): Promise<DryRunRefusal> {
  if (kubernetes === undefined || manifest.name === undefined) return undefined
  try {
    return await findDryRunRefusal(manifest, kubernetes)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return plan === undefined ? { refusal: error, isFinal: true, isNamespaceMissing: false } : undefined
  }
}
