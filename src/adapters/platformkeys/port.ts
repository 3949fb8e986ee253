import type { KeyRing } from '../../contracts/vaults/envelope.ts'

/** The platform keys as the configuration holds them now: they change while the process runs. */
export interface PlatformKeys extends KeyRing {
  /** Looks at once whether there are others: a key may have been wrapped by one that another process knew first. */
  refresh(): Promise<void>
  /** Hears of each change. */
  onChange(handler: () => void): () => void
  stop(): void
}
