/** Qwen Code, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { qwenCode } from './chat-programs.ts';
import { describeClient } from './journey.ts';

describeClient(qwenCode);
