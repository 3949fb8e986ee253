import { z } from 'zod'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import type { ImageUses } from '../../contracts/registry/retention.ts'
import type { SweepBounds } from '../../contracts/registry/sweep.ts'
import { failureGuard, ReasonedError } from '../../core/failure.ts'
import type { AuditLog } from '../audit/port.ts'

/** A manifest in the registry. */
export type RegistryManifest = {
  readonly digest: string
  readonly mediaType: string
  /** Size of the manifest and of everything that it refers to. */
  readonly sizeBytes: number
  /** The manifests that an index refers to. */
  readonly references: readonly string[]
  /** The manifest that this one is attached to. */
  readonly subject: string | undefined
  /** `os/architecture`; for an index, those of its manifests. */
  readonly platforms: readonly string[]
  /** Digest of the image configuration, which holds the labels. */
  readonly configuration: string | undefined
}

export type ImageDetails = {
  readonly createdAt: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly platform: string | undefined
}

export type RegistryCall = { readonly signal?: AbortSignal | undefined }

/**
 * An image registry. Every call is idempotent.
 *
 * @throws RegistryError
 */
export interface ImageRegistry {
  /**
   * Lists all repositories, including empty ones.
   *
   * @param folder only those in this folder, such as `<boundaryId>/<resourceGroup>`; does not read all the others
   */
  repositories(folder?: string): Promise<string[]>
  /** Returns none for an unknown repository. */
  tags(repository: string): Promise<string[]>
  /**
   * Reads a manifest; undefined if not found.
   *
   * @param reference a tag or a digest
   */
  manifest(repository: string, reference: string, options?: RegistryCall): Promise<RegistryManifest | undefined>
  /** Returns the current digest of a tag; undefined if there is no such tag. */
  digestOf(repository: string, tag: string): Promise<string | undefined>
  details(repository: string, configuration: string, options?: RegistryCall): Promise<ImageDetails>
  /** Lists all manifests, tagged or not; undefined if unknown, because the registry API only lists tags. */
  digests(repository: string): Promise<string[] | undefined>
  /** Deletes a manifest and all tags that point to it. Succeeds if it is gone. */
  remove(repository: string, digest: string): Promise<void>
  /**
   * Returns the bytes of all data in a folder, each layer once: layers without a manifest and uploads in progress too.
   * Undefined if unknown, because the registry API does not tell.
   */
  bytesOf(folder: string): Promise<number | undefined>
  /** Deletes unused data; undefined if that needs the registry's own tools. */
  sweep(bounds: SweepBounds): Promise<{ freedBytes: number } | undefined>
}

/** `Unreachable`: no answer, or a request to retry later; `Refused`: by the registry; `Unreadable`: broken data. */
export type RegistryErrorReason = 'Unreachable' | 'Refused' | 'Unreadable'

/** A failed call. The message names the request, without any body of the registry and without tokens. */
export class RegistryError extends ReasonedError<RegistryErrorReason> {}
export const isRegistryError = failureGuard(RegistryError)

/** What a token grants, in the terms of the registry's token specification. */
export type RegistryAccess = { readonly type: string; readonly name: string; readonly actions: readonly string[] }

/** The content of a credential that the platform issues. */
export const Credential = z.object({
  kind: z.enum(['Boundary', 'Build', 'Refresh']),
  /** The principal whose rights apply; the platform itself for pull secrets of a group. */
  principalId: z.string(),
  principalType: z.enum(['User', 'ServicePrincipal', 'Platform']),
  /** The uid of the principal if known, so that a recreated one does not inherit the credential. */
  principalUid: z.string().optional(),
  /** Digest of the secret that it was issued for: a replaced secret invalidates it. */
  secretDigest: z.string().optional(),
  /** Restricts the principal's rights; undefined for no restriction. */
  limit: z.object({ repositories: z.string(), actions: z.array(z.string()) }).optional(),
  /** Incarnations of boundary and group and the uid of the resource, by place: recreated ones do not match. */
  lives: z.record(z.string(), z.string()).optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
})
export type Credential = Readonly<z.output<typeof Credential>>

/** Signs registry tokens, and the credentials that the token endpoint accepts. */
export interface RegistryKeys {
  /** @returns a registry token that is valid for `seconds` from `now` */
  token(subject: string, access: readonly RegistryAccess[], times: { now: number; seconds: number }): Promise<string>
  issue(credential: Credential): Promise<string>
  /** Returns undefined for anything that is expired or was not issued with these keys. */
  read(text: string, now: number): Promise<Credential | undefined>
}

/** The platform's registry, as the controllers use it. */
export type RegistryPort = {
  /** As it appears in image names. */
  readonly host: string
  readonly registry: ImageRegistry
  readonly keys: RegistryKeys
  readonly audit: AuditLog<RegistryAuditEntry>
  /** Whether the audit has all push tokens, of all processes. If not, nothing may be deleted. */
  readonly seesPushes: boolean
  /** Reads from the API server what is in use now, by repository: a cache may be stale. */
  readonly uses: () => Promise<(repository: string) => ImageUses>
  /** Milliseconds after a push token was issued for a repository, during which nothing is deleted there. */
  readonly grace: number
}
