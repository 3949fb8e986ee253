import { z } from 'zod'
import { Networks, Pairs } from './fields.ts'

export const buildSettings = {
  buildImage: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe(
      'The image that builds, as `npm run image` makes it under the name freehold-builder; without it, and registryUrl, nothing is built. Where pods are played builds are too',
    ),
  buildNetworks: Networks.default([]).describe(
    'Networks that builds reach beside names and the host of their repository: the registry, and where packages and first images come from. Such as 10.1.0.0/16 or, with TCP ports, 10.1.2.3/32@443+5000; of 0.0.0.0/0 closedNetworks and addresses of the inside are left out',
  ),
  buildImageMirror: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Where builds fetch images of other registries instead, as host and port'),
  buildPackageMirrors: Pairs(
    /^(npm|pypi|go|maven)=https?:\/\/\S+$/,
    'expected npm, pypi, go or maven, = and an address',
  )
    .default([])
    .describe('Registries of packages in the place of the public ones, such as npm=https://packages.example.com/npm/'),
  buildScannerImage: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Image that lists the contents of built images; no list (SBOM) is made when absent'),
  buildCpuLimit: z.string().min(1).max(32).default('2').describe('Processors that one build may use'),
  buildMemoryLimit: z.string().min(1).max(32).default('2Gi').describe('Memory that one build may use'),
  buildDiskLimit: z.string().min(1).max(32).default('10Gi').describe('What one build may write; gone when it ends'),
  buildNodeSelector: Pairs(/^[^=\s]+=[^=\s]*$/, 'expected the label of nodes, such as builds=only')
    .default([])
    .describe('Labels of the nodes that builds run on; all nodes when empty'),
  buildRuntimeClass: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('RuntimeClass of the pods of builds, for a sandbox around them'),
}
