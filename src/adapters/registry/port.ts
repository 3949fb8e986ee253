import { z } from 'zod'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import type { Uses } from '../../contracts/registry/retention.ts'
import type { SweepBounds } from '../../contracts/registry/sweep.ts'
import { CodedError } from '../../core/failure.ts'
import type { AuditLog } from '../audit/port.ts'

/** One manifest of the registry, as it stands there. */
export type RegistryManifest = {
  readonly digest: string
  readonly mediaType: string
  /** The total of the manifest and everything that it names. */
  readonly sizeBytes: number
  /** Manifests that it needs: those of an index. */
  readonly references: readonly string[]
  /** The manifest that it is about. */
  readonly subject: string | undefined
  /** `os/architecture`, of an index those of its parts. */
  readonly platforms: readonly string[]
  /** Digest of the image's configuration, which holds its labels. */
  readonly configuration: string | undefined
}

export type ImageDetails = {
  readonly createdAt: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly platform: string | undefined
}

export type RegistryCall = { readonly signal?: AbortSignal | undefined }

/**
 * A registry of images. Every call may be repeated.
 *
 * @throws RegistryError
 */
export interface ImageRegistry {
  /** Every repository that it knows, also those in which nothing is left. */
  repositories(): Promise<string[]>
  /** Empty for an unknown repository. */
  tags(repository: string): Promise<string[]>
  /**
   * What a tag or a digest names; undefined if nothing.
   *
   * @param reference a tag or a digest
   */
  manifest(repository: string, reference: string, options?: RegistryCall): Promise<RegistryManifest | undefined>
  /** The digest that a tag points to now; undefined if there is no such tag. */
  digestOf(repository: string, tag: string): Promise<string | undefined>
  details(repository: string, configuration: string, options?: RegistryCall): Promise<ImageDetails>
  /** Every manifest, with and without tags. Undefined where the registry does not tell: its interface lists tags only. */
  digests(repository: string): Promise<string[] | undefined>
  /** With every tag that points to it. An unknown one is as wanted. */
  remove(repository: string, digest: string): Promise<void>
  /** Removes data that nothing needs. Undefined where only the registry's own tools reach the data. */
  sweep(bounds: SweepBounds): Promise<{ freedBytes: number } | undefined>
}

/** `Unreachable`: no answer, or one that says to come again; `Refused`: it will not; `Unreadable`: what is there is broken. */
export type RegistryErrorCode = 'Unreachable' | 'Refused' | 'Unreadable'

/** A failed call. The message names what was asked; never a body of the registry, nor a token. */
export class RegistryError extends CodedError<RegistryErrorCode> {}

export function isRegistryError(error: unknown, ...codes: readonly RegistryErrorCode[]): error is RegistryError {
  return error instanceof RegistryError && (codes.length === 0 || codes.includes(error.code))
}

/** What one token opens at the registry, in the words of its specification. */
export type RegistryAccess = { readonly type: string; readonly name: string; readonly actions: readonly string[] }

/** Who asks with something that the platform gave out, and what for. */
export const Credential = z.object({
  kind: z.enum(['Boundary', 'Build', 'Refresh']),
  /** The principal whose rights apply when it is used; the platform itself for pull secrets of a group. */
  principalId: z.string(),
  principalType: z.enum(['User', 'ServicePrincipal', 'Platform']),
  /** Which life of the principal, where it is known. */
  principalUid: z.string().optional(),
  /** What it is limited to; undefined for whatever the principal may. */
  limit: z.object({ repositories: z.string(), actions: z.array(z.string()) }).optional(),
  /** Which lives of boundary and group it is for: made anew they are others. */
  lives: z.record(z.string(), z.string()).optional(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
})
export type Credential = Readonly<z.output<typeof Credential>>

/** Signs what the registry believes, and what the token endpoint takes back. */
export interface RegistryKeys {
  /** @returns a token that the registry takes until then */
  token(subject: string, access: readonly RegistryAccess[], times: { now: number; seconds: number }): Promise<string>
  issue(credential: Credential): Promise<string>
  /** Undefined for anything that was not issued with these keys, or has expired. */
  read(text: string, now: number): Promise<Credential | undefined>
}

/** The registry of the platform, as the controllers work with it. */
export type RegistryPort = {
  /** As in the names of images. */
  readonly host: string
  readonly registry: ImageRegistry
  readonly keys: RegistryKeys
  readonly audit: AuditLog<RegistryAuditEntry>
  /** Whether that tells of every token to push with, whichever process gave it out: else nothing may be removed. */
  readonly seesPushes: boolean
  /** What is in use now, by repository: asked of the API server, because only the present counts. */
  readonly uses: () => Promise<(repository: string) => Uses>
  /** Milliseconds for which nothing is removed of a repository after somebody got a token to push to it. */
  readonly grace: number
}
