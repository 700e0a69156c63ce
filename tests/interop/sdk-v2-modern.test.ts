/** mcpx in front of UPSTREAMS.v2Modern is that server, for every client and feature. */
import { matrix } from './matrix.ts';
import { UPSTREAMS } from './upstreams.ts';

matrix(UPSTREAMS.v2Modern);
