import type { AnyKind } from '../../crds/define.ts'
import type { AnyDeclaration } from './types.ts'

const DECLARATIONS = new Map<string, AnyDeclaration<AnyKind>>()

/** Tells whoever makes resources for others what REST takes of a kind, and how it becomes a spec. */
export function declare<K extends AnyKind>({ kind }: K, declaration: AnyDeclaration<K>): void {
  DECLARATIONS.set(kind, declaration as unknown as AnyDeclaration<AnyKind>)
}

/** Undefined for a kind whose objects REST makes in another way. */
export function declarationOf({ kind }: AnyKind): AnyDeclaration<AnyKind> | undefined {
  return DECLARATIONS.get(kind)
}
