import type { Tool } from '../controlplane/tool.ts'

/** What builds images in pods. */
export const BUILDKIT_TOOLS = {
  buildkitd: { folder: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildkitd', name: 'buildkitd' },
  buildctl: { folder: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildctl', name: 'buildctl' },
} as const satisfies Record<string, Tool>
