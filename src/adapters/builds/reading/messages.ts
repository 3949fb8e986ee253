import type { ArchiveSummary } from './port.ts'

/** Messages to the thread about one archive: its begin, its next piece, its end, or its cancellation. */
export type ToThread =
  | { readonly id: number; readonly piece: Uint8Array }
  | { readonly id: number; readonly now: 'begin' | 'end' | 'cut' }

/** Messages from the thread: bytes that it has processed, and finally the result. */
export type FromThread =
  | { readonly id: number; readonly taken: number }
  | { readonly id: number; readonly read: ArchiveSummary }
  | { readonly id: number; readonly refused: string }
  | { readonly id: number; readonly failed: string }
