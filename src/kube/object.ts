// Declared in core, because `desired` and `crds` need these types and may not import this folder.
export * from '../core/object.ts'
