import type { KeyRing } from '../../contracts/vaults/envelope.ts'

/** The configured platform keys, which may change while the process runs. */
export interface PlatformKeys extends KeyRing {
  /** Reloads now: another process may already have wrapped something with a newer key. */
  refresh(): Promise<void>
  /** Calls the handler after each change. */
  onChange(handler: () => void): () => void
  stop(): void
}
