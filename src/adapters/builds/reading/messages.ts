import type { ArchiveRead } from './port.ts'

/** What the thread is told of one archive: that it begins, its next piece, that it is whole, or that nobody waits for it any more. */
export type ToThread =
  | { readonly id: number; readonly piece: Uint8Array }
  | { readonly id: number; readonly now: 'begin' | 'end' | 'cut' }

/** What the thread tells of it: how many bytes it has room for again, and in the end what it was. */
export type FromThread =
  | { readonly id: number; readonly taken: number }
  | { readonly id: number; readonly read: ArchiveRead }
  | { readonly id: number; readonly refused: string }
  | { readonly id: number; readonly failed: string }
